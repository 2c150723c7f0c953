// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A library that is loaded at run time, so that nobody needs it who does not use it.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>
#include <string>

#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI {

struct LoadedLibrary {
    const char* name;     // as people call it
    const char* version;  // what is wrong where a function is missing
    void* handle = nullptr;

    // The library that the environment variable names, or else the first of the files that is there. NotBuilt if none
    // can be loaded.
    static LoadedLibrary load(const char* name, const char* version, const char* variable,
                              std::initializer_list<const char*> files, const std::string& hint)
    {
        const auto open = [](const char* file) { return dlopen(file, RTLD_NOW | RTLD_LOCAL); };
        LoadedLibrary library{name, version};
        if (const char* const chosen = std::getenv(variable)) library.handle = open(chosen);
        else
            for (const char* const file : files)
                if (library.handle == nullptr) library.handle = open(file);
        if (library.handle != nullptr) return library;
        const char* const why = dlerror();
        throw NotBuilt(concat(name, " cannot be loaded: ", why ? why : "no reason given"),
                       concat("install it (", hint, "), or name its library in ", variable));
    }

    template <class Function>
    void find(const char* function_name, Function& function) const
    {
        function = reinterpret_cast<Function>(dlsym(handle, function_name));
        require<NotBuilt>(
            function != nullptr, [&] { return concat(name, " has no function ", function_name); }, version);
    }
};

}  // namespace tulle::inline TULLE_ABI
