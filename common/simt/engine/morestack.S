/* morestack.S — where functions of -fsplit-stack code go when their frame does not fit between %rsp and the limit in
 * %fs:0x70, which every switch sets (switch.h). libgcc would give the function more stack; here it is the end.
 * On top of the stack lies an address in the prologue of that function: its line is reported. */
        .text
        .globl  __morestack
        .type   __morestack, @function
__morestack:
        movq    (%rsp), %rdi
        andq    $-16, %rsp
        xorl    %ebp, %ebp
        call    simt_stack_overflow
        .size   __morestack, . - __morestack

/* Code that was compiled without it may be called with whatever stack there is. */
        .globl  __morestack_non_split
        .type   __morestack_non_split, @function
__morestack_non_split:
        jmp     __morestack
        .size   __morestack_non_split, . - __morestack_non_split

        .section .note.GNU-stack, "", @progbits
