// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/formats/npy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/math.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::string_view npy_magic{"\x93NUMPY", 6};

struct NamedNumber {
    std::string_view name;
    Number type;
};
constexpr std::array known_numbers{
    NamedNumber{"|b1", Number::b1}, NamedNumber{"|i1", Number::i1}, NamedNumber{"|u1", Number::u1},
    NamedNumber{"<i2", Number::i2}, NamedNumber{"<u2", Number::u2}, NamedNumber{"<i4", Number::i4},
    NamedNumber{"<u4", Number::u4}, NamedNumber{"<i8", Number::i8}, NamedNumber{"<u8", Number::u8},
    NamedNumber{"<f4", Number::f4}, NamedNumber{"<f8", Number::f8},
};

// Reads the little of Python that such headers use: {'descr': '<f8', 'fortran_order': False, 'shape': (3,), }
class Dictionary {
public:
    Dictionary(const Source& source, std::string_view text) : source_(source), rest_(text) {}

    bool accept(char c)
    {
        skip_blanks();
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void expect(char c)
    {
        if (!accept(c)) fail(concat("there should be '", std::string(1, c), "' in the header"));
    }
    std::string text()
    {
        skip_blanks();
        if (rest_.starts_with('[')) fail("arrays of records are not read");
        const char quote = rest_.empty() ? '\0' : rest_.front();
        if (quote != '\'' && quote != '"') fail("there should be a text in quotes in the header");
        const std::size_t end = rest_.find(quote, 1);
        if (end == std::string_view::npos) fail("a text in the header does not end");
        const std::string result(rest_.substr(1, end - 1));
        rest_.remove_prefix(end + 1);
        return result;
    }
    void boolean()  // one-dimensional arrays are the same in both orders
    {
        skip_blanks();
        for (const std::string_view word : {"True", "False"})
            if (rest_.starts_with(word)) return rest_.remove_prefix(word.size());
        fail("there should be True or False in the header");
    }
    std::vector<offset_t> tuple()
    {
        std::vector<offset_t> numbers;
        expect('(');
        while (!accept(')')) {
            skip_blanks();
            offset_t number = 0;
            const auto [after, fault] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
            if (fault != std::errc{} || number < 0) fail("a shape in the header is no number, negative or too large");
            rest_.remove_prefix(static_cast<std::size_t>(after - rest_.data()));
            numbers.push_back(number);
            if (!accept(',') && !rest_.starts_with(')')) fail("the shape in the header does not end");
        }
        return numbers;
    }
    [[noreturn]] void fail(const std::string& what) const { source_.fail(rest_.data(), what); }

private:
    void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

    const Source& source_;
    std::string_view rest_;
};

void read_dictionary(Dictionary& header, NpyArray& array)
{
    header.expect('{');
    bool has_shape = false;
    while (!header.accept('}')) {
        const std::string key = header.text();
        header.expect(':');
        if (key == "descr") {
            array.type = header.text();
        } else if (key == "fortran_order") {
            header.boolean();
        } else if (key == "shape") {
            array.shape = header.tuple();
            has_shape = true;
        } else {
            header.fail("unknown key in the header");
        }
        header.accept(',');
    }
    if (array.type.empty() || !has_shape) header.fail("the header does not tell type and shape");
}

std::size_t item_bytes(const Source& source, const NpyArray& array)
{
    const char* begin = source.bytes().data();
    const char kind = array.type.size() > 1 ? array.type[1] : '?';
    if (array.type.find('O') != std::string::npos)
        source.fail(begin, "the array holds Python objects, which are never read: they can run code when unpickled");
    if (array.type.front() == '>') source.fail(begin, concat("the array has another byte order ('", array.type, "')"));
    offset_t size = 0;
    const auto [after, fault] = std::from_chars(array.type.data() + std::min<std::size_t>(2, array.type.size()),
                                                array.type.data() + array.type.size(), size);
    if (fault != std::errc{} || after != array.type.data() + array.type.size() || size < 0 || size > 1 << 20)
        source.fail(begin, concat("unknown type '", array.type, "'"));
    return static_cast<std::size_t>(size) * (kind == 'U' ? 4 : 1);
}

std::size_t header_bytes(const Source& source, std::size_t& begin)
{
    const std::string_view bytes = source.bytes();
    if (bytes.size() < 10 || !bytes.starts_with(npy_magic)) source.fail(bytes.data(), "this is not an .npy array");
    const auto byte = [&](std::size_t at) { return std::size_t{static_cast<unsigned char>(bytes[at])}; };
    begin = byte(6) == 1 ? 10 : 12;
    if (byte(6) < 1 || byte(6) > 3 || bytes.size() < begin)
        source.fail(bytes.data() + 6, concat("unknown version ", byte(6), " of .npy"));
    const std::size_t size = byte(8) | byte(9) << 8 | (begin == 12 ? byte(10) << 16 | byte(11) << 24 : 0);
    if (size > bytes.size() - begin) source.fail(bytes.data() + 8, "the array ends inside of its header");
    return size;
}

}  // namespace

NpyArray read_npy(const Source& source)
{
    std::size_t begin = 0;
    const std::size_t size = header_bytes(source, begin);
    NpyArray array;
    Dictionary header(source, source.bytes().substr(begin, size));
    read_dictionary(header, array);
    const std::string_view rest = source.bytes().substr(begin + size);
    const std::size_t item = item_bytes(source, array);
    std::size_t bytes = item;
    for (const offset_t n : array.shape)
        if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(n), &bytes))
            source.fail(rest.data(), "the shape is larger than any file");
    if (bytes > rest.size())
        source.fail(rest.data() + rest.size(), concat("the array ends after ", rest.size(), " of ", bytes, " bytes"));
    array.data = rest.substr(0, bytes);
    return array;
}

RawArray as_numbers(const Source& source, const NpyArray& array, const std::string& name)
{
    const auto found = std::find_if(known_numbers.begin(), known_numbers.end(),
                                    [&](const NamedNumber& n) { return n.name == array.type; });
    if (found == known_numbers.end())
        source.fail(source.bytes().data(), concat("numbers of type '", array.type, "' are not read"));
    if (array.shape.size() != 1)
        source.fail(source.bytes().data(), concat(name, " has ", array.shape.size(), " dimensions, not one"));
    return {&source, name, found->type, array.data.data(), array.shape[0]};
}

std::string as_text(const Source& source, const NpyArray& array)
{
    const char kind = array.type.size() > 1 ? array.type[1] : '?';
    if (kind != 'S' && kind != 'U')
        source.fail(source.bytes().data(), concat("there should be a text, not type '", array.type, "'"));
    std::string text;
    for (const char c : array.data)
        if (c != '\0') text += c;  // U has four bytes a character; only plain letters matter here
    return text.substr(0, 32);
}

std::string npy_header(const std::string& type, const std::string& shape)
{
    constexpr std::size_t fixed = 10, alignment = 64;
    std::string text = concat("{'descr': '", type, "', 'fortran_order': False, 'shape': ", shape, ", }");
    text.resize(round_up(fixed + text.size() + 1, alignment) - fixed - 1, ' ');
    text += '\n';
    const std::array<char, 4> version_and_size{1, 0, static_cast<char>(text.size() & 255),
                                               static_cast<char>(text.size() >> 8)};
    return concat(npy_magic, std::string_view(version_and_size.data(), version_and_size.size()), text);
}

}  // namespace tulle::inline TULLE_ABI::io
