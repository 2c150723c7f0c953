// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The exceptions of tulle. Each says what is wrong, where, with the numbers, and what to do (the hint).
///
/// All derive from tulle::Error. Any function that works on a GPU can throw DeviceError when a CUDA call fails, and any
/// function that allocates can throw OutOfMemory; the other exceptions are named with each function.
#pragma once

#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI {

/// Base class of all exceptions of tulle. what() is the message followed by the hint.
class TULLE_API Error : public std::runtime_error {
public:
    /// @param what the message: a sentence.
    /// @param hint what the user can do; may be empty.
    explicit Error(const std::string& what, const std::string& hint = {});
    /// The sentence without the hint.
    const std::string& message() const noexcept { return message_; }
    /// The hint alone; empty where there is none.
    const std::string& hint() const noexcept { return hint_; }

private:
    std::string message_, hint_;
};

/// Sizes of arguments that do not fit each other.
class TULLE_API ShapeError : public Error {
public:
    using Error::Error;
};
/// A value outside its range: a column beyond the matrix, an offset that falls, an unknown option.
class TULLE_API ValueError : public Error {
public:
    using Error::Error;
};
/// A file that cannot be opened, read or written.
class TULLE_API FileError : public Error {
public:
    /// @param what the message: a sentence.
    /// @param hint what the user can do; may be empty.
    /// @param code errno of the call that failed.
    explicit FileError(const std::string& what, const std::string& hint = {}, int code = 0);
    /// errno of the call that failed, such as ENOENT; 0 where no call of the operating system failed.
    int code() const noexcept { return code_; }

private:
    int code_;
};
/// A file whose contents are wrong: "A.mtx:12: column 51 exceeds 50".
class TULLE_API FormatError : public FileError {
public:
    using FileError::FileError;
};
/// Something that this build does not contain.
class TULLE_API NotBuilt : public Error {
public:
    using Error::Error;
};
/// The GPU, its driver, or memory of the wrong device.
class TULLE_API DeviceError : public Error {
public:
    using Error::Error;
};
/// A plan used with a matrix other than the one it was made for.
class TULLE_API PlanMismatch : public Error {
public:
    using Error::Error;
};

/// Memory that the machine does not have or the budget does not allow.
class TULLE_API OutOfMemory : public Error {
public:
    /// @param what the message: a sentence.
    /// @param needed bytes asked for.
    /// @param available bytes that could be had.
    /// @param hint what the user can do; may be empty.
    OutOfMemory(const std::string& what, std::size_t needed, std::size_t available, const std::string& hint = {});
    /// Bytes asked for at once, by the array that was refused: others may need more; 0 where unknown.
    std::size_t needed() const noexcept { return needed_; }
    /// Bytes that could be had; 0 where unknown.
    std::size_t available() const noexcept { return available_; }

private:
    std::size_t needed_, available_;
};

/// Throws E unless `ok`. Arguments are checked in release builds too.
/// @tparam E exception type.
template <class E = ShapeError>
void require(bool ok, std::string_view what, std::string_view hint = {})
{
    if (!ok) throw E(std::string(what), std::string(hint));
}

/// Throws E unless `ok`, with a message that is only built when it is needed.
/// @tparam E exception type.
/// @param ok the condition.
/// @param what called without arguments; returns the message.
/// @param hint what the user can do; may be empty.
template <class E = ShapeError, std::invocable F>
void require(bool ok, F&& what, std::string_view hint = {})
{
    if (!ok) throw E(what(), std::string(hint));
}

}  // namespace tulle::inline TULLE_ABI
