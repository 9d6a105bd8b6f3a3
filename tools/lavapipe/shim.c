// A Vulkan driver that is lavapipe but for what it says of itself. The file LAVAPIPE is loaded in its place, by the Vulkan loader or by a
// browser.
//   SWIFTSHADER: under SwiftShader's vendor and device number; of software adapters, Chromium gives only that one to pages
//                (tools/lavapipe/chromium).
//   F32_UNITS:   its matrix units, which take f16 and add up in f32, are said to take f32. It computes that as well
//                (tools/lavapipe/matrix_units).
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Function)(void);
typedef Function (*GetProc)(void* instance_or_device, const char* name);

static GetProc of_instance, of_physical_device;
static int (*negotiate)(uint32_t* version);

__attribute__((constructor)) static void open_lavapipe(void) {
  void* driver = dlopen(LAVAPIPE, RTLD_NOW | RTLD_LOCAL);
  if (!driver) {
    fprintf(stderr, "lavapipe: %s\n", dlerror());
    exit(1);
  }
  of_instance = (GetProc)dlsym(driver, "vk_icdGetInstanceProcAddr");
  of_physical_device = (GetProc)dlsym(driver, "vk_icdGetPhysicalDeviceProcAddr");
  negotiate = (int (*)(uint32_t*))dlsym(driver, "vk_icdNegotiateLoaderICDInterfaceVersion");
}

#ifdef SWIFTSHADER
typedef void (*GetProperties)(void* device, uint32_t* properties);
static GetProperties get_properties, get_properties2;

// VkPhysicalDeviceProperties begins with the versions of interface and driver, then vendor and device.
static void rename_device(uint32_t* properties) {
  properties[2] = 0x1AE0;
  properties[3] = 0xC0DE;
}
static void properties_of(void* device, uint32_t* properties) {
  get_properties(device, properties);
  rename_device(properties);
}
// VkPhysicalDeviceProperties2: the same behind sType and pNext.
static void properties2_of(void* device, uint32_t* properties) {
  get_properties2(device, properties);
  rename_device(properties + 4);
}

static Function replaced(const char* name, Function found) {
  if (!found) return found;
  if (strcmp(name, "vkGetPhysicalDeviceProperties") == 0) {
    get_properties = (GetProperties)found;
    return (Function)properties_of;
  }
  if (strncmp(name, "vkGetPhysicalDeviceProperties2", 30) == 0) {  // and ...2KHR
    get_properties2 = (GetProperties)found;
    return (Function)properties2_of;
  }
  return found;
}
#endif

#ifdef F32_UNITS
// VkCooperativeMatrixPropertiesKHR, and of VkComponentTypeKHR what is needed.
enum { F16 = 0, F32 = 1 };
struct units {
  int structure_type;
  void* next;
  uint32_t m, n, k;
  int a, b, c, result;
  uint32_t saturating;
  int scope;
};
typedef int (*GetUnits)(void* device, uint32_t* n, struct units* all);
static GetUnits get_units;

static int units_of(void* device, uint32_t* n, struct units* all) {
  int done = get_units(device, n, all);
  for (uint32_t i = 0; all && i < *n; i++) {
    if (all[i].a == F16 && all[i].result == F32) all[i].a = all[i].b = F32;
  }
  return done;
}

static Function replaced(const char* name, Function found) {
  if (!found || strcmp(name, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR") != 0) return found;
  get_units = (GetUnits)found;
  return (Function)units_of;
}
#endif

#define EXPORT __attribute__((visibility("default")))
EXPORT Function vk_icdGetInstanceProcAddr(void* instance, const char* name) {
  return replaced(name, of_instance(instance, name));
}
EXPORT Function vk_icdGetPhysicalDeviceProcAddr(void* instance, const char* name) {
  return replaced(name, of_physical_device(instance, name));
}
EXPORT int vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t* version) { return negotiate(version); }
// Dawn asks the driver itself, without the loader.
EXPORT Function vkGetInstanceProcAddr(void* instance, const char* name) {
  return strcmp(name, "vkGetInstanceProcAddr") == 0 ? (Function)vkGetInstanceProcAddr : vk_icdGetInstanceProcAddr(instance, name);
}
