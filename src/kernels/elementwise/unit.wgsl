// What an invocation of an elementwise pass takes of a row of N: a vec4 where N divides by 4, else one element.
#if N % 4 == 0
#define UNIT vec4<f32>
#define UNITS (N / 4)
#define EACH(f, v) vec4<f32>(f(v.x), f(v.y), f(v.z), f(v.w))
#else
#define UNIT f32
#define UNITS N
#define EACH(f, v) f(v)
#endif
