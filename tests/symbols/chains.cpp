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
    return lambda(a) + chain<int, 5>::run(a);
}

int main(int argc, char **argv)
{
    std::map<std::string, std::vector<int>> groups;
    for (int i = 0; i < argc + 100; i++)
        groups[std::to_string(i % 7)].push_back(outer(i));
    long sum = 0;
    for (auto &group : groups) {
        std::sort(group.second.begin(), group.second.end(), [](int x, int y) { return x > y; });
        for (int value : group.second)
            sum += value;
    }
    if (argc > 5)
        throw std::string(argv[1]);
    printf("%ld\n", sum);
}
