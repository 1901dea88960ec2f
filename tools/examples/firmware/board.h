/* The services that firmware.c needs of a board, and all that must be written anew for another.
 * They are a counter, five serial lines, a watchdog, and a few bytes of flash. board.c is for ARM's
 * MPS2 with a Cortex-M3 (AN385), as QEMU has it: qemu-system-arm -M mps2-an385. */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BOARD_LINES = 5,
    /* 25 MHz / 256, so a tick takes 10.24 us. */
    BOARD_TICK_US_NUMERATOR = 256, BOARD_TICK_US_DENOMINATOR = 25,
    /* After twice that without board_feed_watchdog() the board begins anew. */
    BOARD_WATCHDOG_MS = 500
};

/* Called once, first of all; then the watchdog runs. */
void board_init(void);

/* A counter of the hardware that no interrupt drives and nothing stops. It goes up, and from
 * UINT32_MAX to 0 after 12 hours. */
uint32_t board_ticks(void);

/* Line k sends a byte, when the line has room, and receives a byte, when there is one. */
bool board_can_send(unsigned k);
void board_send(unsigned k, uint8_t byte);
bool board_has_byte(unsigned k);
uint8_t board_receive(unsigned k);

/* Waits for next to nothing, with the processor at rest. */
void board_rest(void);

void board_feed_watchdog(void);

/* The size bytes that are kept through resets and power failures. Reading memory that was never
 * written gives false. */
bool board_read_flash(void *bytes, size_t size);
bool board_write_flash(const void *bytes, size_t size);

/* ---- For tests: a debugger, or QEMU, is at the other side ---- */

void board_print(const char *text);

/* Runs a command on the host while the processor stands still and the counter does not;
 * its exit status. */
int board_ask_host(const char *command);

/* Ends QEMU, with exit status 0 or 1. */
_Noreturn void board_exit(bool is_good);

/* The most bytes of stack that were in use at once since the reset, and those there are. */
size_t board_stack_used(void);
size_t board_stack_size(void);

#endif
