/*
 * As entered_registers.c, for aarch64: is every register as it was when a function is entered? But
 * for x16 and x17, which any call may change, and x30, which has the return address.
 */
#include <stdint.h>

#define GENERAL 28 /* x0-x15, x18-x29 */
uint64_t given[GENERAL], seen[GENERAL];
uint8_t given_vectors[32][16], seen_vectors[32][16];
void looks(void), enters(void);

#define ALL(what)                                                                                  \
    what " x0, x1, [x16]\n" what " x2, x3, [x16, #16]\n" what " x4, x5, [x16, #32]\n" what         \
         " x6, x7, [x16, #48]\n" what " x8, x9, [x16, #64]\n" what " x10, x11, [x16, #80]\n" what  \
         " x12, x13, [x16, #96]\n" what " x14, x15, [x16, #112]\n" what                            \
         " x18, x19, [x16, #128]\n" what " x20, x21, [x16, #144]\n" what                           \
         " x22, x23, [x16, #160]\n" what " x24, x25, [x16, #176]\n" what                           \
         " x26, x27, [x16, #192]\n" what " x28, x29, [x16, #208]\n"
#define VECTORS(what)                                                                              \
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n" what                          \
    " q\\n, [x17, #\\n * 16]\n"                                                                    \
    ".endr\n"                                                                                      \
    ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n" what                \
    " q\\n, [x17, #\\n * 16]\n"                                                                    \
    ".endr\n"

__asm__(".text\n"
        ".type looks, %function\n"
        "looks: adrp x16, seen\n"
        "add x16, x16, #:lo12:seen\n"
        "adrp x17, seen_vectors\n"
        "add x17, x17, #:lo12:seen_vectors\n" ALL("stp")
            VECTORS("str") "ret\n"
                           ".size looks, . - looks\n"
                           ".globl enters\n"
                           ".type enters, %function\n"
                           "enters: stp x29, x30, [sp, #-160]!\n"
                           "stp x19, x20, [sp, #16]\n"
                           "stp x21, x22, [sp, #32]\n"
                           "stp x23, x24, [sp, #48]\n"
                           "stp x25, x26, [sp, #64]\n"
                           "stp x27, x28, [sp, #80]\n"
                           "stp d8, d9, [sp, #96]\n"
                           "stp d10, d11, [sp, #112]\n"
                           "stp d12, d13, [sp, #128]\n"
                           "stp d14, d15, [sp, #144]\n"
                           "adrp x16, given\n"
                           "add x16, x16, #:lo12:given\n"
                           "adrp x17, given_vectors\n"
                           "add x17, x17, #:lo12:given_vectors\n" VECTORS("ldr")
                               ALL("ldp") "bl looks\n"
                                          "ldp d14, d15, [sp, #144]\n"
                                          "ldp d12, d13, [sp, #128]\n"
                                          "ldp d10, d11, [sp, #112]\n"
                                          "ldp d8, d9, [sp, #96]\n"
                                          "ldp x27, x28, [sp, #80]\n"
                                          "ldp x25, x26, [sp, #64]\n"
                                          "ldp x23, x24, [sp, #48]\n"
                                          "ldp x21, x22, [sp, #32]\n"
                                          "ldp x19, x20, [sp, #16]\n"
                                          "ldp x29, x30, [sp], #160\n"
                                          "ret\n"
                                          ".size enters, . - enters\n");

#include "entered_registers.h"
