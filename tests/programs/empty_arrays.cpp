/* Arrays of no elements, whose type has a destructor: the length stands before them, so that they
 * begin where their block ends. */
struct element {
    int value = 1;
    ~element()
    {
        value = 0;
    }
};

struct alignas(16) wide {
    double value[2] = {1, 2};
    ~wide()
    {
        value[0] = 0;
    }
};

static volatile int none; /* so that the compiler does not know the length */
static element *kept, *kept_long;
static wide *kept_wide;
static long *between[8];
static element *volatile lost;

static __attribute__((noinline)) void lose()
{
    lost = new element[none];
    lost = new element[none + 7];
    lost = nullptr;
}

static __attribute__((noinline)) void overwrite_the_stack()
{
    volatile char bytes[4096];
    for (char volatile &b : bytes)
        b = 1;
}

int main()
{
    kept = new element[none];
    for (long *&b : between) /* else the kept one might end where the lost one begins */
        b = new long(1);
    kept_wide = new wide[none];
    kept_long = new element[none + 5];
    lose();
    overwrite_the_stack();
    return 0;
}
