/* fiber.S — the switch between the stacks of two threads, and the end of a stack that is full. x86-64 System V: only
 * callee-saved registers are kept. `pop; jmp` instead of `ret`, because the return predictor would always be wrong:
 * the return address belongs to another stack. arch_context.h has the same
 * switch inline, for the places where a lane blocks. */
        .text

/* A saved context is a stack pointer; the top of its stack holds the address at which it continues. */
        .macro  save_context
        pushq   %rbp
        pushq   %rbx
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        leaq    restore(%rip), %rax
        pushq   %rax
        movq    %rsp, (%rdi)
        .endm

restore:
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        popq    %rbp
        popq    %rcx
        jmp     *%rcx

/* void fiber_switch(void **save, void *load): continue the context `load`, leaving this one in *save. */
        .globl  fiber_switch
        .type   fiber_switch, @function
fiber_switch:
        save_context
        movq    %rsi, %rsp
        popq    %rcx
        jmp     *%rcx
        .size   fiber_switch, . - fiber_switch

/* void fiber_start(void **save, void *top, void (*start)(void)): run start() on an empty stack. */
        .globl  fiber_start
        .type   fiber_start, @function
fiber_start:
        save_context
        movq    %rsi, %rsp
        xorl    %ebp, %ebp
        pushq   $0
        jmp     *%rdx
        .size   fiber_start, . - fiber_start

/* void fiber_leave(void *load): continue the context `load`; never returns. */
        .globl  fiber_leave
        .type   fiber_leave, @function
fiber_leave:
        movq    %rdi, %rsp
        popq    %rcx
        jmp     *%rcx
        .size   fiber_leave, . - fiber_leave

/* void fiber_restart(void *top, void (*start)(void)): run start() on an empty stack; never returns. */
        .globl  fiber_restart
        .type   fiber_restart, @function
fiber_restart:
        movq    %rdi, %rsp
        xorl    %ebp, %ebp
        pushq   $0
        jmp     *%rsi
        .size   fiber_restart, . - fiber_restart

/* __morestack: a function of -fsplit-stack code calls it when its frame does not fit between %rsp and the limit in
 * %fs:0x70, which every switch sets (../../switch.h). libgcc would provide more stack; here it is a stack overflow.
 * On top of the stack lies an address in the prologue of that function: its line is reported. */
        .globl  __morestack
        .type   __morestack, @function
__morestack:
        movq    (%rsp), %rdi
        andq    $-16, %rsp
        xorl    %ebp, %ebp
        call    simt_stack_overflow
        .size   __morestack, . - __morestack

/* A call of code that was compiled without -fsplit-stack. */
        .globl  __morestack_non_split
        .type   __morestack_non_split, @function
__morestack_non_split:
        jmp     __morestack
        .size   __morestack_non_split, . - __morestack_non_split

/* alloca() calls it for space that does not fit. */
        .globl  __morestack_allocate_stack_space
        .type   __morestack_allocate_stack_space, @function
__morestack_allocate_stack_space:
        jmp     __morestack
        .size   __morestack_allocate_stack_space, . - __morestack_allocate_stack_space

        .section .note.GNU-stack, "", @progbits
