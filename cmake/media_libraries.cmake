# Decoders of pictures and sounds, built from the sources that tools/setup fetches (docs/decisions/media-libraries.md); only what decodes is built.
#   puna_jpeg   #include <jpeglib.h>           puna_vorbis     #include <vorbis/vorbisfile.h>
#   puna_spng   #include <spng.h>              puna_miniaudio  #include <miniaudio.h>
#   puna_webp   #include <webp/decode.h>, <webp/demux.h>

# puna_media_library(NAME FOLDER sources below it): as a static library whose own warnings are its makers'.
function(puna_media_library name folder)
  set(root ${PUNA_CACHE_DIR}/${folder})
  puna_require_cached(${folder}/.pin)
  set(sources)
  foreach(source ${ARGN})
    list(APPEND sources ${root}/${source})
  endforeach()
  add_library(puna_${name} STATIC ${sources})
  target_compile_options(puna_${name} PRIVATE -w $<$<CONFIG:Release>:-O2>)
  if(PUNA_SANITIZE MATCHES undefined)  # they add nothing to null pointers and the like; what reads or writes elsewhere is found
    target_compile_options(puna_${name} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()

# libjpeg-turbo without its assembler, which asks for nasm and gives the same pixels.
set(JPEG_LIB_VERSION 62)
set(VERSION 2.1.5)
set(LIBJPEG_TURBO_VERSION_NUMBER 2001005)
set(BITS_IN_JSAMPLE 8)
set(D_ARITH_CODING_SUPPORTED 1)
set(INLINE "__inline__ __attribute__((always_inline))")
set(THREAD_LOCAL __thread)
set(SIZE_T __SIZEOF_SIZE_T__)
set(COPYRIGHT_YEAR 2023)
puna_media_library(jpeg libjpeg-turbo jaricom.c jcomapi.c jdapimin.c jdapistd.c jdarith.c jdcoefct.c jdcolor.c jddctmgr.c jdhuff.c jdinput.c
  jdmainct.c jdmarker.c jdmaster.c jdmerge.c jdphuff.c jdpostct.c jdsample.c jerror.c jidctflt.c jidctfst.c jidctint.c jidctred.c jmemmgr.c
  jmemnobs.c jquant1.c jquant2.c jsimd_none.c jutils.c)
foreach(header jconfig jconfigint jversion)
  configure_file(${PUNA_CACHE_DIR}/libjpeg-turbo/${header}.h.in ${PROJECT_BINARY_DIR}/libjpeg-turbo/${header}.h)
endforeach()
target_include_directories(puna_jpeg SYSTEM PUBLIC ${PROJECT_BINARY_DIR}/libjpeg-turbo ${PUNA_CACHE_DIR}/libjpeg-turbo)

# zlib's names get a prefix: the system's zlib may be in the same program.
puna_media_library(media_zlib zlib adler32.c compress.c crc32.c deflate.c inffast.c inflate.c inftrees.c trees.c zutil.c)
target_include_directories(puna_media_zlib SYSTEM PUBLIC ${PUNA_CACHE_DIR}/zlib)
target_compile_definitions(puna_media_zlib PUBLIC Z_PREFIX)

# Its writing half wants zlib's; the linker leaves out what nothing calls.
puna_media_library(spng libspng spng/spng.c)
target_include_directories(puna_spng SYSTEM PUBLIC ${PUNA_CACHE_DIR}/libspng/spng)
target_compile_definitions(puna_spng PUBLIC SPNG_STATIC)
target_link_libraries(puna_spng PRIVATE puna_media_zlib)

set(webp_dsp alpha_processing cpu dec dec_clip_tables filters lossless rescaler upsampling yuv)
foreach(part alpha_processing dec filters lossless rescaler upsampling yuv)
  list(APPEND webp_dsp ${part}_sse2 ${part}_neon)
endforeach()
list(TRANSFORM webp_dsp REPLACE "(.+)" "src/dsp/\\1.c")
set(webp_utils bit_reader_utils color_cache_utils filters_utils huffman_utils palette quant_levels_dec_utils random_utils rescaler_utils
  thread_utils utils)
list(TRANSFORM webp_utils REPLACE "(.+)" "src/utils/\\1.c")
puna_media_library(webp libwebp src/dec/alpha_dec.c src/dec/buffer_dec.c src/dec/frame_dec.c src/dec/idec_dec.c src/dec/io_dec.c
  src/dec/quant_dec.c src/dec/tree_dec.c src/dec/vp8_dec.c src/dec/vp8l_dec.c src/dec/webp_dec.c src/demux/demux.c ${webp_dsp} ${webp_utils})
target_include_directories(puna_webp SYSTEM PUBLIC ${PUNA_CACHE_DIR}/libwebp/src PRIVATE ${PUNA_CACHE_DIR}/libwebp)

set(INCLUDE_INTTYPES_H 0)
set(INCLUDE_STDINT_H 1)
set(INCLUDE_SYS_TYPES_H 0)
foreach(bits 16 32 64)
  set(SIZE${bits} int${bits}_t)
  set(USIZE${bits} uint${bits}_t)
endforeach()
puna_media_library(ogg libogg src/bitwise.c src/framing.c)
configure_file(${PUNA_CACHE_DIR}/libogg/include/ogg/config_types.h.in ${PROJECT_BINARY_DIR}/libogg/ogg/config_types.h)
target_include_directories(puna_ogg SYSTEM PUBLIC ${PROJECT_BINARY_DIR}/libogg ${PUNA_CACHE_DIR}/libogg/include)
set(vorbis_sources bitrate block codebook envelope floor0 floor1 info lookup lpc lsp mapping0 mdct psy registry res0 sharedbook smallft
  synthesis vorbisfile window)
list(TRANSFORM vorbis_sources REPLACE "(.+)" "lib/\\1.c")
puna_media_library(vorbis libvorbis ${vorbis_sources})
target_include_directories(puna_vorbis SYSTEM PUBLIC ${PUNA_CACHE_DIR}/libvorbis/include PRIVATE ${PUNA_CACHE_DIR}/libvorbis/lib)
target_link_libraries(puna_vorbis PUBLIC puna_ogg)

# Of miniaudio only the decoders of WAV, MP3 and FLAC. With -O2 compiling it takes 25 seconds in place of 4, more than all the others together.
puna_media_library(miniaudio miniaudio miniaudio.c)
target_compile_options(puna_miniaudio PRIVATE $<$<CONFIG:Release>:-O1>)
target_include_directories(puna_miniaudio SYSTEM PUBLIC ${PUNA_CACHE_DIR}/miniaudio)
target_compile_definitions(puna_miniaudio PUBLIC MA_NO_DEVICE_IO MA_NO_ENCODING MA_NO_GENERATION MA_NO_NODE_GRAPH MA_NO_ENGINE
  MA_NO_RESOURCE_MANAGER MA_NO_STDIO)
