// symbols_unit.cpp: some 4 MB of debug info each time it is compiled with another UNIT, by way of
// templates: 24 sets of containers, algorithms and lambdas, all different types.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
#include <regex>
#include <sstream>

template <int N> struct tag {
    int value;
    bool operator<(const tag &other) const { return value < other.value; }
    bool operator==(const tag &other) const { return value == other.value; }
};

template <int N> struct hasher {
    size_t operator()(const tag<N> &key) const { return key.value * 31u + N; }
};

template <int N> long work(int seed)
{
    std::map<tag<N>, std::vector<std::string>> texts;
    std::unordered_map<tag<N>, std::shared_ptr<std::set<tag<N>>>, hasher<N>> sets;
    for (int i = 0; i < 8; i++) {
        texts[tag<N>{seed + i}].push_back(std::to_string(i));
        auto &set = sets[tag<N>{i & 3}];
        if (!set)
            set = std::make_shared<std::set<tag<N>>>();
        set->insert(tag<N>{i});
    }
    std::vector<tag<N>> keys;
    for (auto &text : texts)
        keys.push_back(text.first);
    std::sort(keys.begin(), keys.end(), [](const tag<N> &a, const tag<N> &b) { return b < a; });
    std::stable_sort(keys.begin(), keys.end());
    std::function<long(long)> sum = [&](long x) { return x + (long)keys.size() + (long)sets.size(); };
    return sum(N);
}

template <int... N> long all(int seed, std::integer_sequence<int, N...>)
{
    long sum = 0;
    ((sum += work<N + UNIT * 100>(seed)), ...);
    return sum;
}

#define JOIN(a, b)  a##b
#define NAME(a, b)  JOIN(a, b)
#define SETS        24

long NAME(unit_, UNIT)(int seed)
{
    return all(seed, std::make_integer_sequence<int, SETS>());
}
