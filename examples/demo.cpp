/*
 * A small reconstruction job, with the memory mistakes of large ones. `make demo` records it.
 *
 *   read_event         makes a large buffer for every 50th event: the peak
 *   make_tracks        copies a string for each pair of hits it looks at: temporary blocks, most of
 * all allocations Calibration::get   remembers an entry for every key it ever saw: a cache that
 * only grows monitor            forgets the histogram of each rejected event: a leak
 */
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

struct Hit {
    int layer;
    double x, y;
};

struct Track {
    std::vector<const Hit *> hits;
    double quality;
};

struct Event {
    int number;
    std::vector<Hit> hits;
    std::vector<char> raw;
};

struct Histogram {
    double bins[1000];
};

/* Keyed by run and channel; nothing is ever removed, although only the newest run is asked for. */
class Calibration
{
    std::map<std::string, std::vector<double>> cache;

  public:
    double get(int run, int channel)
    {
        std::string key = "run " + std::to_string(run) + " channel " + std::to_string(channel);
        auto found = cache.find(key);

        if (found == cache.end())
            found = cache.emplace(key, std::vector<double>(512, 1.0 + channel * 1e-3)).first;
        return found->second[0];
    }
    std::size_t size() const
    {
        return cache.size();
    }
};

static std::mt19937 chance(42);

static std::unique_ptr<Event> read_event(int number)
{
    auto event = std::make_unique<Event>();
    int hit_count = 60 + number % 40;

    event->number = number;
    /* Every 50th event is a crowded one: 24 MB of raw data, kept until the event is done. */
    event->raw.resize(number % 50 == 25 ? 24000000 : 20000);
    for (int i = 0; i < hit_count; i++)
        event->hits.push_back({i % 10, chance() % 1000 * 0.1, chance() % 1000 * 0.1});
    return event;
}

/* Compares names instead of numbers, and makes them anew for every pair. */
static std::string layer_name(const Hit &hit)
{
    return "detector/barrel/silicon/layer-" + std::to_string(hit.layer);
}

static std::vector<Track> make_tracks(const Event &event, Calibration &calibration)
{
    std::vector<Track> tracks;

    for (const Hit &first : event.hits) {
        Track track{{&first}, 0};

        for (const Hit &second : event.hits) {
            if (layer_name(first) != layer_name(second) && std::abs(first.x - second.x) < 1)
                track.hits.push_back(&second);
        }
        track.quality = track.hits.size() * calibration.get(event.number / 10, first.layer);
        if (track.hits.size() > 2)
            tracks.push_back(track);
    }
    return tracks;
}

/* The histogram goes to the caller only when the event is accepted; else it is lost. */
static Histogram *monitor(const std::vector<Track> &tracks)
{
    Histogram *histogram = new Histogram();

    for (const Track &track : tracks)
        histogram->bins[static_cast<int>(track.quality) % 1000]++;
    return tracks.size() > 40 ? histogram : nullptr;
}

int main()
{
    /* Never deleted: services that others may still use at the end seldom are. */
    Calibration &calibration = *new Calibration;
    std::size_t accepted = 0;

    for (int number = 0; number < 300; number++) {
        auto event = read_event(number);
        auto tracks = make_tracks(*event, calibration);
        std::unique_ptr<Histogram> histogram(monitor(tracks));

        accepted += histogram != nullptr;
    }
    std::printf("300 events, %zu accepted, %zu calibrations remembered\n", accepted,
                calibration.size());
    return 0;
}
