/* Ends with an instruction that is none. */
int main(void)
{
    __asm__ volatile("nop; .word 0; nop");
    return 0;
}
