// Exceptions through several frames, with destructors, and a stream.
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

struct Guard {
    std::string name;
    ~Guard() { std::cout << "left " << name << "\n"; }
};

__attribute__((noinline)) static int deep(int n)
{
    Guard guard{std::to_string(n)};
    if (n == 0)
        throw std::runtime_error("bottom");
    return deep(n - 1) + 1;
}

int main()
{
    std::map<std::string, std::vector<double>> table;
    for (int i = 0; i < 50; i++)
        table[std::to_string(i % 7)].push_back(i / 3.0);
    for (auto &[key, values] : table)
        std::cout << key << " " << values.size() << " " << values.back() << "\n";
    for (int i = 0; i < 3; i++) {
        try {
            deep(i + 2);
        } catch (const std::exception &exception) {
            std::cout << "caught " << exception.what() << "\n";
        }
    }
    return 5;
}
