/* The code that is copied into a program to load the library there (wire/attach_code.h). There is
 * none, because `tidemark attach` refuses on this machine. */
#include "wire/attach_code.h"

__asm__(".text\n"
        ".globl attach_code\n"
        ".hidden attach_code\n"
        "attach_code:\n"
        "brk #0\n"
        ".globl attach_code_end\n"
        ".hidden attach_code_end\n"
        "attach_code_end:\n"
        ".globl return_code\n"
        ".hidden return_code\n"
        "return_code:\n"
        "brk #0\n"
        ".globl return_code_end\n"
        ".hidden return_code_end\n"
        "return_code_end:\n");
