// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The two streams of the tool: results on stdout, talk on stderr; colour and line drawing where the other side can show
// them.
#pragma once

#include <string>
#include <string_view>

namespace tulle::cli {

enum class Style { plain, bold, dim, accent, bad };

class Console {
public:
    // colour: auto (a terminal, and NO_COLOR is not set), always, never.
    // stdout_taken: a matrix goes to stdout, so results go to stderr.
    explicit Console(std::string_view colour = "auto", bool quiet = false, bool stdout_taken = false);

    void print(std::string_view text) const;  // results; FileError if stdout cannot take them
    static bool has_printed();                // whether any result is out
    void say(std::string_view line) const;    // talk; nothing with --quiet
    void complain(std::string_view sentence, std::string_view hint) const;  // "tulle: …", "  hint: …"

    std::string styled(std::string_view text, Style style) const;  // for stdout
    bool shows_progress() const { return progress_; }
    bool unicode() const { return unicode_; }
    int width() const { return width_; }  // columns of the terminal, 80 elsewhere

private:
    bool colour_out_, colour_err_, quiet_, progress_, unicode_, stdout_taken_;
    int width_;
};

}  // namespace tulle::cli
