// The part of fmt that is no template, compiled once, for builds whose system has no library of it:
// with its headers alone each file that formats anything compiles all of it again.
#include <fmt/format-inl.h>

#include <locale>

FMT_BEGIN_NAMESPACE
namespace detail {

// Declared in the headers, defined in format-inl.h, and made nowhere else.
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float x) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double x) noexcept;
template locale_ref::locale_ref(const std::locale& loc);
template std::locale locale_ref::get<std::locale>() const;
template thousands_sep_result<char> thousands_sep_impl(locale_ref loc);
template char decimal_point_impl(locale_ref loc);
template void buffer<char>::append(const char* begin, const char* end);
template void vformat_to(buffer<char>& out, string_view text,
                         basic_format_args<FMT_BUFFER_CONTEXT(char)> args, locale_ref loc);

}  // namespace detail
FMT_END_NAMESPACE
