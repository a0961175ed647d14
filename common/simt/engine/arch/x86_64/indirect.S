/* indirect.S — the way of every indirect call and jump of code from simt-cc --learner (-mindirect-branch=thunk-extern): to an
 * endbr64 between learner_text_begin and learner_text_end; else simt_indirect_target decides, or does not return. x86-64. */
        .text
        .weak   learner_text_begin
        .weak   learner_text_end

        .macro  thunk register
        .globl  __x86_indirect_thunk_\register
        .type   __x86_indirect_thunk_\register, @function
__x86_indirect_thunk_\register:
        cmpq    $learner_text_begin, %\register
        jb      1f
        cmpq    $learner_text_end, %\register
        jae     1f
        cmpl    $0xfa1e0ff3, (%\register)
        jne     1f
        jmp     *%\register
1:      pushq   %\register
        call    check_target
        addq    $8, %rsp
        jmp     *%\register
        .size   __x86_indirect_thunk_\register, . - __x86_indirect_thunk_\register
        .endm

        .irp    register, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
        thunk   \register
        .endr

/* The target is on the stack, above the return address; the caller's return address above it. All registers are kept. */
        .type   check_target, @function
check_target:
        pushq   %rbp
        movq    %rsp, %rbp
        .irp    register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11
        pushq   %\register
        .endr
        subq    $136, %rsp
        andq    $-16, %rsp
        .irp    number, 0, 1, 2, 3, 4, 5, 6, 7
        movups  %xmm\number, \number * 16(%rsp)
        .endr
        movq    16(%rbp), %rdi
        movq    24(%rbp), %rsi
        call    simt_indirect_target
        .irp    number, 0, 1, 2, 3, 4, 5, 6, 7
        movups  \number * 16(%rsp), %xmm\number
        .endr
        leaq    -72(%rbp), %rsp
        .irp    register, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax
        popq    %\register
        .endr
        popq    %rbp
        ret
        .size   check_target, . - check_target

        .section .note.GNU-stack, "", @progbits
