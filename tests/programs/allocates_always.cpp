/* allocates_always THREADS: each thread allocates and frees all the time, by malloc, by operator new
 * and through containers, until it is killed. 0: the first thread alone. It checks what it keeps, and
 * aborts if that has changed. */
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{
constexpr unsigned blocks_most = 200;
constexpr unsigned pause_every = 500; /* steps between naps, so that others may run too */

/* A block that knows what must be in its first bytes. */
class Block
{
  public:
    Block(unsigned seed, std::size_t size) : mark(static_cast<unsigned char>(seed))
    {
        how = seed >> 30;
        bytes = how == 0   ? malloc(size)
                : how == 1 ? calloc(1, size)
                : how == 2 ? realloc(malloc(8), size)
                           :
                           operator new(size);
        memset(bytes, mark, 16);
    }
    Block(const Block &) = delete;
    ~Block()
    {
        for (unsigned i = 0; i < 16; i++)
            if (static_cast<unsigned char *>(bytes)[i] != mark)
                abort();
        if (how == 3)
            operator delete(bytes);
        else
            free(bytes);
    }

  private:
    void *bytes;
    unsigned how;
    unsigned char mark;
};

void fail(unsigned seed)
{
    throw std::runtime_error(std::string(100 + seed % 100, 'x'));
}

void work(unsigned seed)
{
    std::vector<std::unique_ptr<Block>> blocks(blocks_most);
    std::map<unsigned, std::string> names;
    for (unsigned n = 1;; n++) {
        seed = seed * 1664525 + 1013904223;
        auto &at = blocks[(seed >> 8) % blocks_most];
        if (at)
            at.reset();
        else
            at = std::make_unique<Block>(seed, 16 + (seed >> 16) % 2000);
        if (n % 16 == 0) {
            std::string &name = names[(seed >> 8) % 100];
            if (name.size() > 1000)
                names.clear();
            else
                name.append(40, 'a');
        }
        if (n % 512 == 0) {
            try {
                fail(seed);
            } catch (const std::runtime_error &e) {
                if (strlen(e.what()) < 100)
                    abort();
            }
        }
        if (n % pause_every == 0)
            usleep(2000);
    }
}
} // namespace

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : 8;
    if (!threads)
        work(1);
    for (unsigned i = 0; i < threads; i++)
        std::thread(work, i + 1).detach();
    pause();
}
