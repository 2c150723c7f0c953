// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Names of kernels, and a last word when the program dies inside one.
//
// Symbols are hidden, so dladdr() does not know a kernel; the symbol table of the file it was loaded from does.
#include <cxxabi.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "simt/fault.hpp"
#include "simt/machine.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::simt {
namespace {

struct Module {
    std::uintptr_t address;  // looked for
    std::uintptr_t base = 0;
    std::string file;
};

int find_module(dl_phdr_info* info, std::size_t, void* data)
{
    auto& module = *static_cast<Module*>(data);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
        if (segment.p_type != PT_LOAD || module.address < begin || module.address >= begin + segment.p_memsz) continue;
        module.base = info->dlpi_addr;
        module.file = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
        return 1;
    }
    return 0;
}

template <class T>
const T* at(const std::vector<char>& file, std::size_t offset, std::size_t count = 1)
{
    if (offset > file.size() || count > (file.size() - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(file.data() + offset);
}

std::string symbol_in_table(const std::vector<char>& file, const ElfW(Shdr) & table, const ElfW(Shdr) & names,
                            std::uintptr_t value)
{
    const std::size_t count = table.sh_size / sizeof(ElfW(Sym));
    const auto* symbols = at<ElfW(Sym)>(file, table.sh_offset, count);
    for (std::size_t i = 0; symbols && i < count; ++i) {
        if ((symbols[i].st_info & 15) != STT_FUNC || symbols[i].st_value != value) continue;
        if (const char* name = at<char>(file, names.sh_offset + symbols[i].st_name)) return name;
    }
    return {};
}

std::string symbol_in_file(const std::string& name, std::uintptr_t value)
{
    std::ifstream in(name, std::ios::binary);
    const std::vector<char> file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto* header = at<ElfW(Ehdr)>(file, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
    const auto* sections = at<ElfW(Shdr)>(file, header->e_shoff, header->e_shnum);
    for (std::size_t i = 0; sections && i < header->e_shnum; ++i) {
        if (sections[i].sh_type != SHT_SYMTAB && sections[i].sh_type != SHT_DYNSYM) continue;
        if (sections[i].sh_link >= header->e_shnum) continue;
        if (std::string found = symbol_in_table(file, sections[i], sections[sections[i].sh_link], value);
            !found.empty())
            return found;
    }
    return {};
}

// "f<4, float>" of "void ns::f<4, float>(int, float*)".
std::string without_parameters(const std::string& full)
{
    std::size_t end = full.size();
    int depth = 0;
    for (std::size_t i = full.size(); i-- > 0;) {
        depth += full[i] == ')';
        depth -= full[i] == '(';
        if (full[i] == '(' && depth == 0) {
            end = i;
            break;
        }
    }
    const std::size_t begin = full.starts_with("void ") ? 5 : 0;
    return full.substr(begin, end - begin);
}

std::string demangled(const std::string& symbol)
{
    int status = 0;
    char* const text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    if (!text) return symbol;
    const std::string full = text;
    std::free(text);
    return without_parameters(full);
}

void say_where()
{
    const std::string where = machine().whereabouts();
    if (where.empty()) return;
    const std::string text = concat("simulated GPU: ", where, "\n");
    (void)!write(STDERR_FILENO, text.data(), text.size());
}

#if !defined(TULLE_SIMT_ASAN) && !defined(TULLE_SIMT_TSAN)
void on_signal(int number)
{
    std::signal(number, SIG_DFL);
    say_where();
    std::raise(number);
}
#endif

}  // namespace

std::string kernel_name(const void* function)
{
    Module module{reinterpret_cast<std::uintptr_t>(function), 0, {}};
    if (!dl_iterate_phdr(find_module, &module)) return "?";
    const std::string symbol = symbol_in_file(module.file, module.address - module.base);
    return symbol.empty() ? concat(module.file, "+", module.address - module.base) : demangled(symbol);
}

std::string name_of(const Launch& launch)
{
    return launch.kernel ? concat("kernel ", kernel_name(launch.kernel)) : concat("task ", launch.task);
}

std::string short_path(const char* file)
{
    const std::string path = file;
    for (const char* root : {"/tulle/", "/tests/"})
        if (const std::size_t at = path.rfind(root); at != std::string::npos) return path.substr(at + 1);
    return path;
}

void explain_crashes()
{
#if defined(TULLE_SIMT_ASAN) || defined(TULLE_SIMT_TSAN)
    __sanitizer_set_death_callback(say_where);
#else
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE}) std::signal(number, on_signal);
#endif
}

}  // namespace tulle::inline TULLE_ABI::simt

#ifdef TULLE_SIMT_TSAN
// Called by ThreadSanitizer with every report.
extern "C" void __tsan_on_report(void*) { tulle::simt::say_where(); }
#endif
