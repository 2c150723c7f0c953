// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "model/lines.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace tulle::inline TULLE_ABI::model {
namespace {

constexpr std::string_view blanks = " \t\r";

void split(std::string_view line, std::vector<std::string_view>& words)
{
    words.clear();
    for (std::size_t begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
        const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(blanks, end);
    }
}

}  // namespace

bool Lines::next()
{
    while (!rest_.empty()) {
        const std::size_t end = std::min(rest_.find('\n'), rest_.size());
        const std::string_view line = rest_.substr(0, std::min(rest_.find('#'), end));
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        ++line_;
        split(line, words_);
        if (words_.empty()) continue;
        after_first_ =
            words_.size() > 1
                ? std::string_view(words_[1].data(), static_cast<std::size_t>(words_.back().data() +
                                                                              words_.back().size() - words_[1].data()))
                : std::string_view{};
        return true;
    }
    words_.clear();
    ++line_;  // complaints name the line that is missing
    return false;
}

std::string_view Lines::word(std::size_t k) const
{
    if (k >= words_.size()) fail(concat("only ", words_.size(), " words"));
    return words_[k];
}

void Lines::expect(std::size_t words) const
{
    if (words_.size() != words) fail(concat(words_.size(), " words instead of ", words));
}

std::size_t Lines::find(const std::vector<std::string>& names, std::size_t k, std::string_view what) const
{
    const auto found = std::find(names.begin(), names.end(), word(k));
    if (found == names.end()) fail(concat("there is no ", what, " '", word(k), "'"));
    return static_cast<std::size_t>(found - names.begin());
}

void Lines::fail(const std::string& what) const { throw FormatError(concat(name_, ":", line_, ": ", what)); }

std::string read_text(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    require<FileError>(file.good(), [&] { return concat("cannot open the model '", path, "'"); });
    std::string text{std::istreambuf_iterator<char>(file), {}};
    require<FileError>(!file.bad(), [&] { return concat("cannot read the model '", path, "'"); });
    return text;
}

}  // namespace tulle::inline TULLE_ABI::model
