/* fiber.S — the switch between the stacks of two threads. AAPCS64: only callee-saved registers are kept. `ldr; br` instead of
 * `ret`, because the return predictor would always be wrong: the return address belongs to another stack. arch_context.h has the
 * same switch inline, for the places where a lane blocks. */
        .text

/* A saved context is a stack pointer; at the top of its stack lies the address at which it continues. */
        .macro  save_context
        sub     sp, sp, #176
        adr     x9, restore
        str     x9, [sp]
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     x29, x30, [sp, #96]
        stp     d8, d9, [sp, #112]
        stp     d10, d11, [sp, #128]
        stp     d12, d13, [sp, #144]
        stp     d14, d15, [sp, #160]
        mov     x9, sp
        str     x9, [x0]
        .endm

        .macro  load_context stack
        mov     sp, \stack
        ldr     x9, [sp]
        br      x9
        .endm

/* Runs a function on an empty stack; the frame with a return address of 0 is the outermost. */
        .macro  start_at stack, function
        mov     sp, \stack
        mov     x29, #0
        mov     x30, #0
        br      \function
        .endm

restore:
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     x29, x30, [sp, #96]
        ldp     d8, d9, [sp, #112]
        ldp     d10, d11, [sp, #128]
        ldp     d12, d13, [sp, #144]
        ldp     d14, d15, [sp, #160]
        add     sp, sp, #176
        br      x30

/* void fiber_switch(void **save, void *load): continue the context `load`, leaving this one in *save. */
        .globl  fiber_switch
        .type   fiber_switch, @function
fiber_switch:
        save_context
        load_context x1
        .size   fiber_switch, . - fiber_switch

/* void fiber_start(void **save, void *top, void (*start)(void)): run start() on an empty stack. */
        .globl  fiber_start
        .type   fiber_start, @function
fiber_start:
        save_context
        start_at x1, x2
        .size   fiber_start, . - fiber_start

/* void fiber_leave(void *load): continue the context `load`; never returns. */
        .globl  fiber_leave
        .type   fiber_leave, @function
fiber_leave:
        load_context x0
        .size   fiber_leave, . - fiber_leave

/* void fiber_restart(void *top, void (*start)(void)): run start() on an empty stack; never returns. */
        .globl  fiber_restart
        .type   fiber_restart, @function
fiber_restart:
        start_at x0, x1
        .size   fiber_restart, . - fiber_restart

        .section .note.GNU-stack, "", @progbits
