// chains.cpp: inlining as C++ has it: templates, lambdas, local classes, unnamed namespaces,
// exceptions (cold parts), the standard library.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace {
struct hidden {
    int value;
    int twice() const { return value * 2; }
};
static inline int helper(int x) { return hidden{x}.twice() + 1; }
int recursive(int n) { return n < 2 ? n : recursive(n - 1) + recursive(n - 2); }
} // namespace

template <class T, int N> struct chain {
    static T run(T x) { return chain<T, N - 1>::run(x * 3 + N); }
};
template <class T> struct chain<T, 0> {
    static T run(T x) { return helper(x); }
};

int outer(int a)
{
    struct local {
        int method(int q) { return q * recursive(q & 3); }
    } object;
    auto lambda = [&](int z) { return object.method(z) + a; };
    auto general = [&](auto z) { return lambda(z) + a * z; };
    return general(a) + chain<int, 5>::run(a);
}

// A constructor too large to be inlined where it is not asked for.
struct table {
    int cells[16];
    table(int seed)
    {
        for (int i = 0; i < 16; i++)
            cells[i] = seed = seed * 1103515245 + recursive(i & 3);
        for (int i = 0; i < 16; i++)
            cells[cells[i] & 15] ^= recursive(seed & 3) + recursive(i & 1);
        for (int i = 15; i > 0; i--)
            cells[i] = cells[i - 1] * recursive(cells[i] & 3) - recursive(seed & 1);
    }
};

__attribute__((flatten)) int flattened(int n)
{
    table inlined(n);
    return inlined.cells[n & 15];
}

__attribute__((noinline)) int plain(int n)
{
    table first(n), second(n + 1), third(n + 2);
    return first.cells[n & 15] + second.cells[n & 7] + third.cells[n & 3];
}

int main(int argc, char **argv)
{
    std::map<std::string, std::vector<int>> groups;
    for (int i = 0; i < argc + 100; i++)
        groups[std::to_string(i % 7)].push_back(outer(i));
    long sum = flattened(argc) + plain(argc);
    for (auto &group : groups) {
        std::sort(group.second.begin(), group.second.end(), [](int x, int y) { return x > y; });
        for (int value : group.second)
            sum += value;
    }
    if (argc > 5)
        throw std::string(argv[1]);
    printf("%ld\n", sum);
}
