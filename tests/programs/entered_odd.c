/* Functions whose beginning cannot be replaced, or only with care; each is called 10 times. */
int tiny(int), looping(int), inside(int), calling(int), branching(int), switching(int),
    relative(int);
int behind(int);

__asm__(".text\n"
        ".type tiny, @function\n" /* too short, and something follows at once */
        ".globl tiny\n"
        "tiny: mov %edi, %eax\n"
        "ret\n"
        ".size tiny, . - tiny\n"
        ".type behind, @function\n"
        ".globl behind\n"
        "behind: lea 1(%rdi), %eax\n"
        "nop\nnop\nnop\n"
        "ret\n"
        ".size behind, . - behind\n"
        ".type looping, @function\n" /* jumps back to its second instruction */
        ".globl looping\n"
        "looping: xor %eax, %eax\n"
        "1: add $1, %eax\n"
        "dec %edi\n"
        "jns 1b\n"
        "ret\n"
        ".size looping, . - looping\n"
        ".type inside, @function\n" /* another one begins in its first bytes */
        ".globl inside\n"
        "inside: xor %eax, %eax\n"
        ".type within, @function\n"
        ".globl within\n"
        "within: add %edi, %eax\n"
        "add $3, %eax\n"
        "ret\n"
        ".size within, . - within\n"
        ".size inside, . - inside\n"
        ".type switching, @function\n" /* may jump anywhere through a register */
        ".globl switching\n"
        "switching: lea 1f(%rip), %rax\n"
        "jmp *%rax\n"
        "1: lea 4(%rdi), %eax\n"
        "ret\n"
        ".size switching, . - switching\n"
        ".type calling, @function\n" /* begins with a call */
        ".globl calling\n"
        "calling: call behind\n"
        "add $4, %eax\n"
        "ret\n"
        ".size calling, . - calling\n"
        ".type branching, @function\n" /* begins with a short branch */
        ".globl branching\n"
        "branching: test %edi, %edi\n"
        "js 1f\n"
        "lea 6(%rdi), %eax\n"
        "ret\n"
        "1: mov $-1, %eax\n"
        "ret\n"
        ".size branching, . - branching\n"
        ".type relative, @function\n" /* begins with an operand relative to its place */
        ".globl relative\n"
        "relative: mov seven(%rip), %eax\n"
        "add %edi, %eax\n"
        "ret\n"
        ".size relative, . - relative\n"
        ".data\n"
        "seven: .long 7\n"
        ".text\n");

int main(void)
{
    int wrong = 0;
    for (int i = 0; i < 10; i++) {
        wrong |= tiny(i) != i;
        wrong |= behind(i) != i + 1;
        wrong |= looping(i) != i + 1;
        wrong |= inside(i) != i + 3;
        wrong |= switching(i) != i + 4;
        wrong |= calling(i) != i + 5;
        wrong |= branching(i) != i + 6;
        wrong |= relative(i) != i + 7;
    }
    return wrong;
}
