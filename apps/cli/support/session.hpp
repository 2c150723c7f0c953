// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What every verb has at hand: the options all verbs share, the two streams, and a context on the host.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/support/console.hpp"
#include "tulle/context.hpp"
#include "tulle/io.hpp"

namespace tulle::cli {

struct Settings {
    bool json = false, quiet = false, verbose = false;
    std::string colour = "auto";
    int threads = 0;            // 0: all the process may use
    bool stdout_taken = false;  // a file that is written is standard output: results go to stderr
    int device = 0;
    std::size_t budget = Memory::unlimited;  // bytes, for each context
};

struct Session {
    Settings settings;
    Console console;
    std::shared_ptr<std::vector<io::Warning>> warnings =
        std::make_shared<std::vector<io::Warning>>();                    // of all files read so far
    std::shared_ptr<bool> told_no_cuda = std::make_shared<bool>(false);  // told once

    explicit Session(const Settings& wishes)
        : settings(wishes),
          console(wishes.colour, wishes.quiet, wishes.stdout_taken)
    {}

    Context host() const { return host(settings.threads); }
    Context host(int threads) const { return with_budget(Context::cpu(threads)); }
    Context cuda() const { return cuda(settings.device); }
    Context cuda(int device) const { return with_budget(Context::cuda(device)); }
    std::vector<Context> contexts(const std::string& backend) const;  // cpu, cuda or all; says once what is left out

private:
    Context with_budget(Context ctx) const
    {
        if (settings.budget != Memory::unlimited) ctx.budget(settings.budget);
        return ctx;
    }
};

}  // namespace tulle::cli
