/* Values that Eva takes for any. Each function stands for all numbers from 0 to max at once. Read
 * by Frama-C only. */
#ifndef PROVE_ANY_H
#define PROVE_ANY_H

#include <__fc_builtin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static bool any_bool(void) { return Frama_C_unsigned_int_interval(0, 1) == 1; }
static uint8_t any_u8(uint8_t max) { return (uint8_t)Frama_C_unsigned_int_interval(0, max); }
static uint16_t any_u16(uint16_t max) { return (uint16_t)Frama_C_unsigned_int_interval(0, max); }
static uint32_t any_u32(uint32_t max) { return Frama_C_unsigned_int_interval(0, max); }
static uint64_t any_u64(uint64_t max) { return Frama_C_unsigned_long_long_interval(0, max); }
static size_t any_size(size_t max) { return Frama_C_size_t_interval(0, max); }

#endif
