/* names.S: symbols of every kind, at addresses that the test knows: .text is linked at 0x10000. */
        .file "names.c"
        .text

/* Four names for one function; `alpha` is the one to show. */
        .globl alpha, __alpha
        .weak _alpha
        .type alpha, @function
        .type alpha_local, @function
        .type __alpha, @function
        .type _alpha, @function
alpha:
alpha_local:
__alpha:
_alpha:
        .fill 16, 1, 0x90
        .size alpha, 16

/* 0x10010: no type, no size: reaches to the next symbol. */
        .globl no_size
no_size:
        .fill 16, 1, 0x90

/* 0x10020: a label inside that is no function, then a function inside. */
        .globl outer
        .type outer, @function
outer:
        .fill 8, 1, 0x90
inner_label:
        .fill 8, 1, 0x90
        .type inner, @function
inner:
        .fill 16, 1, 0x90
        .size inner, 16
        .fill 16, 1, 0x90
        .size outer, 48

/* 0x10050: nobody's. */
        .fill 16, 1, 0x90

/* 0x10060: in .symtab its name carries the version. */
        .globl versioned_real
        .type versioned_real, @function
        .symver versioned_real, versioned@@FIXTURE_1, remove
versioned_real:
        .fill 16, 1, 0x90
        .size versioned_real, 16

/* 0x10070: split off; named after an alias that is not the one to show. */
        .type _ZN2ns5thingC2Ev.cold, @function
_ZN2ns5thingC2Ev.cold:
        .fill 16, 1, 0x90
        .size _ZN2ns5thingC2Ev.cold, 16

/* 0x10080 */
        .weak _ZN2ns5thingC1Ev, _ZN2ns5thingC2Ev
        .type _ZN2ns5thingC1Ev, @function
        .type _ZN2ns5thingC2Ev, @function
_ZN2ns5thingC1Ev:
_ZN2ns5thingC2Ev:
        .fill 16, 1, 0x90
        .size _ZN2ns5thingC1Ev, 16
        .size _ZN2ns5thingC2Ev, 16

/* 0x10090: Rust, old and new. */
        .type _ZN4core3fmt9Formatter9write_str17h0123456789abcdefE, @function
_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE:
        .fill 16, 1, 0x90
        .size _ZN4core3fmt9Formatter9write_str17h0123456789abcdefE, 16
        .type _RNvNtCs1234_7mycrate3foo3bar, @function
_RNvNtCs1234_7mycrate3foo3bar:
        .fill 16, 1, 0x90
        .size _RNvNtCs1234_7mycrate3foo3bar, 16

/* 0x100b0: copies that compilers make are functions of their own. */
        .type _ZL6helperi.constprop.0, @function
_ZL6helperi.constprop.0:
        .fill 16, 1, 0x90
        .size _ZL6helperi.constprop.0, 16
        .type plain.part.0, @function
plain.part.0:
        .fill 16, 1, 0x90
        .size plain.part.0, 16

/* 0x100d0: names_too.S has functions of the same names. */
        .type twin, @function
twin:
        .fill 16, 1, 0x90
        .size twin, 16
        .type twin.cold, @function
twin.cold:
        .fill 16, 1, 0x90
        .size twin.cold, 16

        .section .note.GNU-stack, "", @progbits
