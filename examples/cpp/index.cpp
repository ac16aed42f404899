/*
 * A small text index: makes up a text, splits it into words, counts them, sorts them by hand, and
 * packs the result with zlib. Small enough to read, with something of all that a page shows:
 * inlined functions, templates, recursion, a library, the system.
 */
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>
#include <zlib.h>

namespace text {

/* The same text on every run: a linear congruential generator picks syllables. */
class Generator {
public:
    std::string paragraph(int words)
    {
        std::string result;
        for (int i = 0; i < words; i++) {
            result += word();
            result += i % 12 == 11 ? ". " : " ";
        }
        return result;
    }

private:
    uint32_t next()
    {
        state_ = state_ * 1664525u + 1013904223u;
        return state_ >> 16;
    }

    std::string word()
    {
        static const char *const syllables[] = {"ta", "ri", "mo", "ne", "lu", "ka", "so", "vi"};
        std::string result;
        for (uint32_t left = 1 + next() % 4; left > 0; left--)
            result += syllables[next() % 8];
        return result;
    }

    uint32_t state_ = 2024;
};

std::vector<std::string> split(const std::string &paragraph)
{
    std::vector<std::string> words;
    std::string word;
    for (char character : paragraph) {
        if (std::isalpha(static_cast<unsigned char>(character))) {
            word += character;
        } else if (!word.empty()) {
            words.push_back(word);
            word.clear();
        }
    }
    return words;
}

} // namespace text

namespace sorting {

/* Quicksort, written out for its recursion. */
template <typename Item, typename Before>
void sort(std::vector<Item> &items, int from, int to, Before before)
{
    if (from >= to)
        return;
    Item pivot = items[(from + to) / 2];
    int low = from, high = to;
    while (low <= high) {
        while (before(items[low], pivot))
            low++;
        while (before(pivot, items[high]))
            high--;
        if (low <= high)
            std::swap(items[low++], items[high--]);
    }
    sort(items, from, high, before);
    sort(items, low, to, before);
}

} // namespace sorting

using Entry = std::pair<std::string, int>;

static std::vector<Entry> count(const std::vector<std::string> &words)
{
    std::unordered_map<std::string, int> counts;
    for (const std::string &word : words)
        counts[word]++;
    return {counts.begin(), counts.end()};
}

static size_t pack(const std::vector<Entry> &entries)
{
    std::string plain;
    for (const Entry &entry : entries)
        plain += entry.first + ' ' + std::to_string(entry.second) + '\n';
    uLongf size = compressBound(plain.size());
    std::vector<Bytef> packed(size);
    compress(packed.data(), &size, reinterpret_cast<const Bytef *>(plain.data()), plain.size());
    return size;
}

int main()
{
    text::Generator generator;
    std::vector<std::string> words = text::split(generator.paragraph(20000));
    std::vector<Entry> entries = count(words);
    sorting::sort(entries, 0, static_cast<int>(entries.size()) - 1,
                  [](const Entry &a, const Entry &b) {
                      return a.second != b.second ? a.second > b.second : a.first < b.first;
                  });
    std::printf("%zu words, %zu different, most often %s; packed into %zu bytes\n", words.size(),
                entries.size(), entries[0].first.c_str(), pack(entries));
    return 0;
}
