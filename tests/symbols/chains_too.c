/* chains_too.c: a second unit, with another `helper`. */
static int helper(int x)
{
    return x ^ (x << 3);
}

int other(int x)
{
    int sum = 0;
    while (x-- > 0)
        sum += helper(x);
    return sum;
}
