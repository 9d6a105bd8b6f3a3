#include "grammar/json_schema/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace puna::grammar {

namespace {

// RFC 3339, section 5.6. Of February 29 the years are told apart.
std::string date() {
  static constexpr std::string_view kFourthYears = "(0[48]|[2468][048]|[13579][26])";
  static constexpr std::string_view kFourthCenturies = "([02468][048]|[13579][26])00";
  return fmt::format(
      "([0-9]{{4}}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
      "|02-(0[1-9]|1[0-9]|2[0-8]))|([0-9]{{2}}{}|{})-02-29)",
      kFourthYears, kFourthCenturies);
}

std::string time() {
  static constexpr std::string_view kFraction = "([.][0-9]+)?";
  static constexpr std::string_view kHourMinute = "([01][0-9]|2[0-3]):[0-5][0-9]";
  return fmt::format("({0}:[0-5][0-9]{1}([Zz]|[+\\-]{0})|23:59:60{1}([Zz]|[+\\-]00:00))",
                     kHourMinute, kFraction);
}

// RFC 3339, appendix A.
std::string duration() {
  static constexpr std::string_view kTime =
      "T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S)";
  return fmt::format("P(([0-9]+D|[0-9]+M([0-9]+D)?|[0-9]+Y([0-9]+M([0-9]+D)?)?)({0})?|{0}|[0-9]+W)",
                     kTime);
}

constexpr std::string_view kIpv4 =
    "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
    "([.](25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])){3}";

// RFC 4291, section 2.2: eight groups, of which "::" stands for one or more, and the last two may
// be an IPv4 address.
std::string ipv6() {
  static constexpr std::string_view kGroup = "[0-9a-fA-F]{1,4}";
  const std::string last = fmt::format("({0}:{0}|{1})", kGroup, kIpv4);
  std::string out = fmt::format("(({}:){{6}}{}", kGroup, last);
  for (int before = 0; before <= 7; ++before) {
    const std::string head = before == 0 ? "" : fmt::format("({0}:){{{1}}}{0}", kGroup, before - 1);
    for (int after = 0; before + after <= 7; ++after) {
      // Groups behind the gap; two of them may be written as an IPv4 address.
      const std::string tail = after == 0   ? ""
                               : after == 1 ? std::string(kGroup)
                                            : fmt::format("({}:){{{}}}{}", kGroup, after - 2, last);
      out += fmt::format("|{}::{}", head, tail);
    }
  }
  return out + ")";
}

// RFC 3986, appendix A. `more`: what else may stand where letters do.
struct Uri {
  std::string absolute, relative;
};
Uri uri(std::string_view more) {
  const std::string unreserved = fmt::format("A-Za-z0-9\\-._~{}", more);
  static constexpr std::string_view kDelimiters = "!$&'()*+,;=";
  static constexpr std::string_view kEncoded = "%[0-9A-Fa-f]{2}";
  const auto any_of = [&](std::string_view others) {
    return fmt::format("([{}{}{}]|{})", unreserved, kDelimiters, others, kEncoded);
  };
  const std::string pchar = any_of(":@");
  const std::string host = fmt::format(
      "(\\[({}|[vV][0-9A-Fa-f]+[.][A-Za-z0-9\\-._~!$&'()*+,;=:]+)\\]|{}*)", ipv6(), any_of(""));
  const std::string authority = fmt::format("({}*@)?{}(:[0-9]*)?", any_of(":"), host);
  const std::string rest = fmt::format("([?]({0}|[/?])*)?(#({0}|[/?])*)?", pchar);
  const std::string rooted = fmt::format("(//{0}(/{1}*)*|/({1}+(/{1}*)*)?", authority, pchar);
  Uri out;
  out.absolute =
      fmt::format("[A-Za-z][A-Za-z0-9+\\-.]*:({0}|{1}+(/{1}*)*)?){2}", rooted, pchar, rest);
  out.relative = fmt::format("({0}|{1}+(/{2}*)*)?){3}", rooted, any_of("@"), pchar, rest);
  return out;
}

// Labels of RFC 1123 without "--" as third and fourth characters, which mark other encodings.
std::string hostname() {
  static constexpr std::string_view kLabel =
      "([A-Za-z0-9]([A-Za-z0-9]|[A-Za-z0-9\\-][A-Za-z0-9]([A-Za-z0-9\\-]{0,20}[A-Za-z0-9])?"
      "|[A-Za-z0-9]-([A-Za-z0-9]([A-Za-z0-9\\-]{0,19}[A-Za-z0-9])?))?)";
  return fmt::format("{0}([.]{0}){{0,9}}", kLabel);
}

std::string email() {
  static constexpr std::string_view kAtom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-]+";
  return fmt::format("{0}([.]{0})*@{1}", kAtom, hostname());
}

constexpr std::string_view kPointer = "(/([^/~]|~[01])*)*";

// RFC 6570, section 2.
std::string uri_template() {
  static constexpr std::string_view kEncoded = "%[0-9A-Fa-f]{2}";
  const std::string name = fmt::format("([A-Za-z0-9_]|{0})([.]?([A-Za-z0-9_]|{0}))*", kEncoded);
  const std::string variable = fmt::format("{}(:[1-9][0-9]{{0,3}}|[*])?", name);
  return fmt::format(
      "([^\\x00-\\x20\"'%<>\\\\^`{{|}}\\x7f-\\x9f]|{0}|\\{{[+#./;?&=,!@|]?{1}(,{1})*\\}})*",
      kEncoded, variable);
}

std::vector<Format> make_formats() {
  const Uri plain = uri("");
  const Uri wide = uri("\\u{a0}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{ffef}");
  const std::string hex = "[0-9a-fA-F]";
  return {
      {"date", date(), false, ""},
      {"time", time(), true, "A leap second only as 23:59:60 UTC."},
      {"date-time", fmt::format("{}[Tt]{}", date(), time()), true,
       "A leap second only as 23:59:60 UTC."},
      {"duration", duration(), false, ""},
      {"email", email(), true, "Names without quotes, hosts as of `hostname`."},
      {"hostname", hostname(), true, "Up to ten labels of up to 24 characters, none encoded."},
      {"ipv4", std::string(kIpv4), false, ""},
      {"ipv6", ipv6(), false, ""},
      {"uri", plain.absolute, false, ""},
      {"uri-reference", fmt::format("({}|{})", plain.absolute, plain.relative), false, ""},
      {"iri", wide.absolute, true, "Characters of the basic plane."},
      {"iri-reference", fmt::format("({}|{})", wide.absolute, wide.relative), true,
       "Characters of the basic plane."},
      {"uri-template", uri_template(), false, ""},
      {"uuid", fmt::format("{0}{{8}}(-{0}{{4}}){{3}}-{0}{{12}}", hex), false, ""},
      {"json-pointer", std::string(kPointer), false, ""},
      {"relative-json-pointer", fmt::format("(0|[1-9][0-9]*)(#|{})", kPointer), false, ""},
  };
}

}  // namespace

std::span<const Format> formats() {
  static const std::vector<Format> kFormats = make_formats();
  return kFormats;
}

const Format* find_format(std::string_view name) {
  const auto row = std::ranges::find(formats(), name, &Format::name);
  return row == formats().end() ? nullptr : &*row;
}

std::string formats_as_markdown() {
  std::string out = "| Format | |\n| --- | --- |\n";
  for (const Format& row : formats()) out += fmt::format("| `{}` | {} |\n", row.name, row.about);
  return out;
}

}  // namespace puna::grammar
