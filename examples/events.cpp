/*
 * A job of 100 events, small enough to know by heart and shaped like a large one, for
 * docs/tutorial.md:
 *
 *   Geometry::load      one block of 16 MiB, of which an eighth is ever used
 *   Calibration::get    a cache: 4,096 bytes at each of the first 40 events, then no more
 *   read_hits           40 bytes a hit, 1,000 hits an event; event 70 has 100,000
 *   layer_name          a string for each hit, gone at once
 *   Monitor::book       1,000 bytes an event that nobody frees (unless built with -DFIXED)
 *   Job::event          the summaries, 32 bytes each, in a vector that doubles
 *   Writer::run         another thread, with a buffer of 256 KiB of its own
 *
 *     events [EVENTS [EVERY SNAPSHOT]]
 *
 * Where the compiler finds tidemark.h each event ends with a mark, and every EVERY events there is
 * a snapshot. Without it this is a program that knows nothing of tidemark.
 */
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#if __has_include("tidemark.h")
#include "tidemark.h"
#else
static void tide_mark(const char *)
{
}
static void tide_snapshot(const char *)
{
}
static void tide_thread_name(const char *)
{
}
#endif

/* As far apart in stacks as in the source, however well the compiler optimises. */
#define APART __attribute__((noinline))

struct Hit {
    double x, y, z, energy;
    int layer, module;
};

struct Summary {
    double energy, radius;
    long hits, checksum;
};

class Geometry
{
  public:
    APART void load()
    {
        size_ = (16 << 20) / sizeof(float);
        cells_ = static_cast<float *>(malloc(size_ * sizeof(float)));
        for (size_t i = 0; i < size_ / 8; i++)
            cells_[i] = 1.0f + static_cast<float>(i % 7);
    }
    float cell(int layer, int module) const
    {
        return cells_[static_cast<size_t>(layer * 4096 + module) % (size_ / 8)];
    }

  private:
    float *cells_ = nullptr;
    size_t size_ = 0;
};

class Calibration
{
  public:
    APART const std::vector<double> &get(int number)
    {
        std::vector<double> &set = sets_[number % 40];
        if (set.empty())
            set.assign(512, 1.0 + number % 40 * 0.001);
        return set;
    }

  private:
    std::vector<double> sets_[40];
};

class Monitor
{
  public:
    APART double book(const std::vector<Hit> &hits)
    {
        float *histogram = new float[250]();
        for (const Hit &hit : hits)
            histogram[hit.module % 250] += static_cast<float>(hit.energy);
        double highest = 0;
        for (int i = 0; i < 250; i++)
            highest = std::fmax(highest, histogram[i]);
#ifdef FIXED
        delete[] histogram;
#endif
        return highest;
    }
};

/* One record at a time: write() returns when the thread has dealt with it. */
class Writer
{
  public:
    Writer() : thread_([this] { run(); })
    {
    }
    void write(const Summary &summary)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        next_ = &summary;
        changed_.notify_all();
        changed_.wait(lock, [this] { return !next_; });
    }
    void finish()
    {
        {
            std::unique_lock<std::mutex> lock(mutex_);
            done_ = true;
            changed_.notify_all();
        }
        thread_.join();
    }

  private:
    APART void run()
    {
        tide_thread_name("writer");
        buffer_.resize(256 << 10);
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return next_ || done_; });
            if (!next_)
                return;
            snprintf(buffer_.data(), buffer_.size(), "%ld hits, %g GeV, %g cm, %lx", next_->hits,
                     next_->energy, next_->radius, next_->checksum);
            next_ = nullptr;
            changed_.notify_all();
        }
    }

    std::vector<char> buffer_;
    std::mutex mutex_;
    std::condition_variable changed_;
    const Summary *next_ = nullptr;
    bool done_ = false;
    std::thread thread_;
};

static APART std::vector<Hit> read_hits(int number)
{
    int count = number == 70 ? 100000 : 1000;
    std::vector<Hit> hits;
    hits.reserve(count);
    for (int i = 0; i < count; i++) {
        double phi = i * 0.1 + number;
        hits.push_back(
            {std::cos(phi) * i, std::sin(phi) * i, i * 0.5, 1.0 / (1 + i % 13), i % 18, i});
    }
    return hits;
}

static APART std::string layer_name(const Hit &hit)
{
    char text[64];
    snprintf(text, sizeof text, "tracker layer %02d module %06d", hit.layer, hit.module);
    return text;
}

static APART double fit(const std::vector<Hit> &hits, const Geometry &geometry,
                        const std::vector<double> &constants, Summary &summary)
{
    double radius = 100;
    for (const Hit &hit : hits) {
        summary.checksum = summary.checksum * 31 + layer_name(hit).back();
        summary.energy +=
            hit.energy * constants[hit.module % 512] * geometry.cell(hit.layer, hit.module);
        for (int i = 0; i < 60; i++)
            radius += 0.01 * (std::hypot(hit.x, hit.y) * 0.001 - radius) / (1 + i);
    }
    return radius;
}

class Job
{
  public:
    Job()
    {
        geometry_.load();
    }
    APART void event(int number)
    {
        std::vector<Hit> hits = read_hits(number);
        Summary summary = {0, 0, static_cast<long>(hits.size()), 0};
        summary.radius = fit(hits, geometry_, calibration_.get(number), summary);
        summary.energy += monitor_.book(hits);
        summaries_.push_back(summary);
        writer_.write(summaries_.back());
    }
    void finish()
    {
        writer_.finish();
        printf("%zu events, last radius %.3f\n", summaries_.size(), summaries_.back().radius);
    }

  private:
    Geometry geometry_;
    Calibration calibration_;
    Monitor monitor_;
    Writer writer_;
    std::vector<Summary> summaries_;
};

/* Lives as long as the program, as services of large programs do. */
static Job *job;

int main(int count, char **arguments)
{
    int events = count > 1 ? atoi(arguments[1]) : 100;
    int every = count > 3 ? atoi(arguments[2]) : 0;
    if (events < 1) {
        fprintf(stderr, "usage: events [EVENTS [EVERY SNAPSHOT]]\n");
        return 2;
    }
    job = new Job;
    for (int number = 1; number <= events; number++) {
        job->event(number);
        tide_mark("event");
        if (every > 0 && number % every == 0)
            tide_snapshot(arguments[3]);
    }
    job->finish();
    return 0;
}
