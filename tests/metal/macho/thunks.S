// Apple's arm64 passes variadic arguments on the stack, in slots of 8 bytes: va_NAME passes the place of the slots on.
    .text
    .macro VARIADIC name, register
    .global va_\name
va_\name:
    mov \register, sp
    b from_\name
    .endm
    VARIADIC printf, x1
    VARIADIC fprintf, x2
    VARIADIC sprintf, x2
    VARIADIC dprintf, x2
    VARIADIC asprintf, x2
    VARIADIC snprintf, x3
    VARIADIC sscanf, x2
    VARIADIC fscanf, x2
    VARIADIC open, x2
    VARIADIC openat, x3
    VARIADIC fcntl, x2
    VARIADIC ioctl, x2

// The code of a thread-local variable's descriptor (x0): its address. All other registers are kept.
    .global tlv_address
tlv_address:
    stp x29, x30, [sp, #-272]!
    mov x29, sp
    stp x1, x2, [sp, #16]
    stp x3, x4, [sp, #32]
    stp x5, x6, [sp, #48]
    stp x7, x8, [sp, #64]
    stp x9, x10, [sp, #80]
    stp x11, x12, [sp, #96]
    stp x13, x14, [sp, #112]
    stp x15, x16, [sp, #128]
    str x17, [sp, #144]
    stp d0, d1, [sp, #160]
    stp d2, d3, [sp, #176]
    stp d4, d5, [sp, #192]
    stp d6, d7, [sp, #208]
    stp d16, d17, [sp, #224]
    stp d18, d19, [sp, #240]
    bl tlv_find
    ldp x1, x2, [sp, #16]
    ldp x3, x4, [sp, #32]
    ldp x5, x6, [sp, #48]
    ldp x7, x8, [sp, #64]
    ldp x9, x10, [sp, #80]
    ldp x11, x12, [sp, #96]
    ldp x13, x14, [sp, #112]
    ldp x15, x16, [sp, #128]
    ldr x17, [sp, #144]
    ldp d0, d1, [sp, #160]
    ldp d2, d3, [sp, #176]
    ldp d4, d5, [sp, #192]
    ldp d6, d7, [sp, #208]
    ldp d16, d17, [sp, #224]
    ldp d18, d19, [sp, #240]
    ldp x29, x30, [sp], #272
    ret

// setjmp and longjmp in the 192 bytes of Apple's jmp_buf.
    .global mac_setjmp
mac_setjmp:
    stp x19, x20, [x0]
    stp x21, x22, [x0, #16]
    stp x23, x24, [x0, #32]
    stp x25, x26, [x0, #48]
    stp x27, x28, [x0, #64]
    stp x29, x30, [x0, #80]
    mov x9, sp
    str x9, [x0, #96]
    stp d8, d9, [x0, #104]
    stp d10, d11, [x0, #120]
    stp d12, d13, [x0, #136]
    stp d14, d15, [x0, #152]
    mov w0, #0
    ret
    .global mac_longjmp
mac_longjmp:
    ldp x19, x20, [x0]
    ldp x21, x22, [x0, #16]
    ldp x23, x24, [x0, #32]
    ldp x25, x26, [x0, #48]
    ldp x27, x28, [x0, #64]
    ldp x29, x30, [x0, #80]
    ldr x9, [x0, #96]
    mov sp, x9
    ldp d8, d9, [x0, #104]
    ldp d10, d11, [x0, #120]
    ldp d12, d13, [x0, #136]
    ldp d14, d15, [x0, #152]
    cmp w1, #0
    csinc w0, w1, wzr, ne
    ret
    .section .note.GNU-stack,"",%progbits
