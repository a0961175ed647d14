/* call.S — a call with given words for arguments: see arch_call.h. */
        .text
        .globl  call_with_words
        .type   call_with_words, @function
call_with_words:
        .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        mov     x16, x0
        mov     x17, x1
copy:   cmp     x2, #8
        b.eq    copied
        sub     x2, x2, #2
        add     x9, x17, x2, lsl #3
        ldp     x10, x11, [x9]
        stp     x10, x11, [sp, #-16]!
        b       copy
copied: movi    d0, #0
        movi    d1, #0
        movi    d2, #0
        movi    d3, #0
        movi    d4, #0
        movi    d5, #0
        movi    d6, #0
        movi    d7, #0
        ldp     x0, x1, [x17]
        ldp     x2, x3, [x17, #16]
        ldp     x4, x5, [x17, #32]
        ldp     x6, x7, [x17, #48]
        blr     x16
        mov     sp, x29
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa sp, 0
        ret
        .cfi_endproc
        .size   call_with_words, . - call_with_words

        .section .note.GNU-stack, "", @progbits
