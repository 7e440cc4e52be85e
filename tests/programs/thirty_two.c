/* A 32-bit program without any library: built with -m32 -nostdlib -static. Exit status 5. */
void _start(void);

void _start(void)
{
    __asm__ volatile("int $0x80" ::"a"(1), "b"(5));
}
