/* ebreak. */
int main(void)
{
    __asm__ volatile("ebreak");
    return 0;
}
