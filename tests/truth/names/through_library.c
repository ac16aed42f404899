void through(void (*function)(void))
{
    function();
}
