# Libraries that are built with Puna, native and WebAssembly alike, so that both give the same results: the upstream archives of Debian
# trixie's source packages.

# A library a line: its folder in third_party/cache, the source package, the archive, its SHA-256, and what of the archive is kept (all where
# nothing is named).
source_archives=(
  "highway highway highway_1.2.0.orig.tar.gz 7e0be78b8318e8bdbf6fa545d2ecb4c90f947df03f7aadc42c1967f019e63343"
  "libjpeg-turbo libjpeg-turbo libjpeg-turbo_2.1.5.orig.tar.gz 254f3642b04e309fee775123133c6464181addc150499561020312ec61c1bf7c *.c *.h *.h.in *.md *.ijg"
  "libogg libogg libogg_1.3.5.orig.tar.xz c4d91be36fc8e54deae7575241e03f4211eb102afb3fc0775fbbc1b740016705 src include COPYING"
  "libspng libspng libspng_0.7.4.orig.tar.gz 47ec02be6c0a6323044600a9221b049f63e1953faf816903e7383d4dc4234487 spng LICENSE"
  "libvorbis libvorbis libvorbis_1.3.7.orig.tar.gz 0e982409a9c3fc82ee06e08205b1355e5c6aa4c36bca58146ef399621b0ce5ab lib include COPYING"
  "libwebp libwebp libwebp_1.5.0.orig.tar.gz 7d6fab70cf844bf6769077bd5d7a74893f8ffd4dfb42861745750c63c2a5c92c src COPYING PATENTS"
  "miniaudio miniaudio miniaudio_0.11.22+dfsg.orig.tar.gz c16866ce5071744f60874f9b0e0c2dbee2dfea96ac2c43a06a02cd1df23a019c miniaudio.c miniaudio.h LICENSE"
  "zlib zlib zlib_1.3.dfsg+really1.3.1.orig.tar.gz 60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb *.c *.h LICENSE"
)

source_is_there() { [ "$(cat "$cache/$1/.pin" 2> /dev/null)" = "$2" ]; }  # FOLDER SHA-256

sources_present() {
  local line folder package archive sum kept
  for line in "${source_archives[@]}"; do
    read -r folder package archive sum kept <<< "$line"
    source_is_there "$folder" "$sum" || return 1
  done
}

sources_install() {
  local line folder package archive sum kept missing=() work=$cache/work
  for line in "${source_archives[@]}"; do
    read -r folder package archive sum kept <<< "$line"
    source_is_there "$folder" "$sum" || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  say "fetching sources of ${missing[*]} (Debian source packages)"
  rm -rf "$work"
  private_apt deb-src trixie "$work" apt-get -qq source --download-only --tar-only --only-source "${missing[@]}" ||
    { tail -n 5 "$cache/apt.log" >&2; die "apt could not download the source packages ${missing[*]}"; }
  for line in "${source_archives[@]}"; do
    read -r folder package archive sum kept <<< "$line"
    source_is_there "$folder" "$sum" || unpack_source "$work/$archive" "$folder" "$sum" "$kept"
  done
  rm -rf "$work"
}

# unpack_source ARCHIVE FOLDER SHA-256 KEPT
unpack_source() {
  local kept=() patterns=() pattern top
  [ -e "$1" ] || die "apt brought another version than $(basename "$1"), which is pinned in tools/setup.d"
  check_sha256 "$1" "$3"
  # Patterns are below the archive's only folder, which may be named otherwise than the archive.
  read -ra patterns -d '' <<< "$4" || true
  top=$(tar tf "$1" | head -n 1 | cut -d / -f 1) || true
  for pattern in "${patterns[@]}"; do kept+=("$top/$pattern"); done
  rm -rf "${cache:?}/$2" && mkdir -p "$cache/$2"
  tar xf "$1" -C "$cache/$2" --strip-components=1 --wildcards --no-wildcards-match-slash "${kept[@]}"
  echo "$3" > "$cache/$2/.pin"
}
