// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The library's errors become the classes of tulle/_errors.py, which have a second base that Python programs know.
#include "arrays.hpp"

#include <nanobind/stl/string.h>

namespace tulle::python {
namespace {

nb::object make_error(const char* name, const Error& e)
{
    const nb::object make = nb::module_::import_("tulle._errors").attr("from_library");
    const nb::object message = text_of(e.message());
    if (const auto* memory = dynamic_cast<const OutOfMemory*>(&e))
        return make(name, message, e.hint(), "needed"_a = memory->needed(), "available"_a = memory->available());
    if (const auto* file = dynamic_cast<const FileError*>(&e)) return make(name, message, e.hint(), file->code());
    return make(name, message, e.hint());
}

const char* name_of(const Error& e)
{
    if (dynamic_cast<const ShapeError*>(&e)) return "ShapeError";
    if (dynamic_cast<const ValueError*>(&e)) return "InvalidValue";
    if (dynamic_cast<const FormatError*>(&e)) return "FormatError";
    if (dynamic_cast<const FileError*>(&e)) return "FileError";
    if (dynamic_cast<const NotBuilt*>(&e)) return "NotBuilt";
    if (dynamic_cast<const DeviceError*>(&e)) return "DeviceError";
    if (dynamic_cast<const PlanMismatch*>(&e)) return "PlanMismatch";
    if (dynamic_cast<const OutOfMemory*>(&e)) return "OutOfMemory";
    if (dynamic_cast<const Forked*>(&e)) return "Forked";
    return "Error";
}

void translate(const std::exception_ptr& thrown, void*)
{
    try {
        std::rethrow_exception(thrown);
    } catch (const Error& e) {
        const nb::object error = make_error(name_of(e), e);
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    }
}

}  // namespace

void bind_errors() { nb::register_exception_translator(translate); }

}  // namespace tulle::python
