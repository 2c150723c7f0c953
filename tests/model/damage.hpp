// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Files that are a little wrong.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::model {

template <class F>
testing::AssertionResult complains(F&& f, std::string_view complaint)
{
    try {
        f();
    } catch (const FormatError& fault) {
        if (std::string_view(fault.what()).starts_with(complaint)) return testing::AssertionSuccess();
        return testing::AssertionFailure() << "it said: " << fault.what();
    }
    return testing::AssertionFailure() << "nothing was refused";
}

// One to three small accidents: a byte changed, removed or put in, a line lost or twice, the end cut off, a word for
// another.
inline std::string damaged(std::string text, int seed)
{
    std::uint64_t turn = 0;
    const auto draw = [&](std::size_t n) {
        return static_cast<std::size_t>(below(hash_of(static_cast<std::uint64_t>(seed), ++turn), n));
    };
    static const std::vector<std::string> words{"leaf",  "split", "0",     "1",  "-1",   "99999999999999999999",
                                                "1e308", "nan",   "layer", "32", "mean", "#",
                                                "\n",    ""};
    for (std::size_t accidents = 1 + draw(3); accidents > 0 && !text.empty(); --accidents) {
        const std::size_t at = draw(text.size()), line = text.rfind('\n', at) + 1,
                          end = std::min(text.find('\n', at), text.size());
        switch (draw(7)) {
        case 0: text[at] = static_cast<char>(draw(256)); break;
        case 1: text.erase(at, 1); break;
        case 2: text.insert(at, 1, static_cast<char>(32 + draw(95))); break;
        case 3:
            if (end > line) text.erase(line, end - line);
            break;
        case 4:
            if (end > line) text.insert(line, text.substr(line, end - line) + "\n");
            break;
        case 5: text.resize(at); break;
        default: {
            const std::size_t from =
                text.find_last_of(" \n", at) == std::string::npos ? 0 : text.find_last_of(" \n", at) + 1;
            text.replace(from, std::min(text.find_first_of(" \n", from), text.size()) - from,
                         words[draw(words.size())]);
        }
        }
    }
    return text;
}

}  // namespace tulle::inline TULLE_ABI::model
