#include "server/page/policies.h"

namespace puna::server {
namespace {

struct Policy {
  std::string_view paths;  // all that begin so
  std::string_view text;   // {scripts}, {styles}: those that stand in the file
};

// The first that fits.
constexpr Policy kPolicies[] = {
    // Where what a model wrote runs: in an origin of its own, which reaches neither the page, nor
    // what it stores, nor the network. All that it needs stands in the file.
    {"/sandbox",
     "sandbox allow-scripts; default-src 'none'; "
     "script-src 'unsafe-inline' 'unsafe-eval' blob:; style-src 'unsafe-inline'; "
     "img-src data: blob:; media-src data: blob:; font-src data:; worker-src blob:; "
     "connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'none'; "
     "form-action 'none'; frame-ancestors 'self'"},
    // The worker of the tab's own engine, which fetches models from where their users say.
    {"/puna/",
     "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' https:; "
     "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    // The page, and workers that come from its own files.
    {"/",
     "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'{scripts}; style-src 'self'{styles}; "
     // The style attribute of the element with which SvelteKit announces routes.
     "style-src-attr 'unsafe-hashes' 'sha256-S8qMpvofolR8Mpjy4kQvEm7m1q8clzU4dfDH0AmvZjo='; "
     "img-src 'self' data: blob:; media-src 'self' blob:; font-src 'self'; connect-src 'self'; "
     "worker-src 'self'; frame-src 'self'; manifest-src 'self'; object-src 'none'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
};

void put_in(std::string& text, std::string_view place, std::string_view words) {
  const size_t at = text.find(place);
  if (at == std::string::npos) return;
  text.replace(at, place.size(), words);
  if (!words.empty()) text.insert(at, 1, ' ');
}

}  // namespace

std::string policy_of(const PageFile& file) {
  for (const Policy& each : kPolicies) {
    if (!file.path.starts_with(each.paths)) continue;
    std::string out(each.text);
    put_in(out, "{scripts}", file.inline_scripts);
    put_in(out, "{styles}", file.inline_styles);
    return out;
  }
  return "default-src 'none'";
}

}  // namespace puna::server
