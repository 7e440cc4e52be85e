/* Preloaded: counts calls of FUNCTION, whatever its arguments, that pass the dynamic linker; tells
 * at the end. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT(name)    TEXT_OF(name)
#define TEXT_OF(name) #name

long counted;
void *counted_next;

__asm__(".text\n"
        ".globl " TEXT(FUNCTION) "\n"
                                 ".type " TEXT(FUNCTION) ", @function\n" TEXT(
                                     FUNCTION) ":\n"
                                               "mov counted@GOTPCREL(%rip), %r11\n"
                                               "lock incq (%r11)\n"
                                               "mov counted_next@GOTPCREL(%rip), %r11\n"
                                               "jmp *(%r11)\n");

__attribute__((constructor)) static void begin(void)
{
    counted_next = dlsym(RTLD_NEXT, TEXT(FUNCTION));
}

__attribute__((destructor)) static void end(void)
{
    FILE *out = fopen(getenv("COUNTED"), "w");
    if (out) {
        fprintf(out, "%ld", counted);
        fclose(out);
    }
}
