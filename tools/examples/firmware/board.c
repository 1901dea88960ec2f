/* The board, and how it begins. See board.h. Registers: ARM DDI 0479 (CMSDK), DAI 0385 (AN385). */
#include "board.h"

/* ---- Registers ---- */

struct uart {
    volatile uint32_t data, state, control, interrupts, baud_divider;
};

struct timer {
    volatile uint32_t control, value, reload, interrupts;
};

struct dual_timer {
    volatile uint32_t load, value, control;
};

struct watchdog {
    volatile uint32_t load, value, control, clear;
};

#define TIMER          ((struct timer *)0x40000000)
#define DUAL_TIMER     ((struct dual_timer *)0x40002000)
#define WATCHDOG       ((struct watchdog *)0x40008000)
#define IRQ_ENABLE     (*(volatile uint32_t *)0xE000E100)
#define IRQ_UNPEND     (*(volatile uint32_t *)0xE000E280)

enum {
    CLOCK_HZ = 25000000,
    UART_TX_FULL = 1, UART_RX_FULL = 2,
    UART_TX_ENABLE = 1, UART_RX_ENABLE = 2,
    TIMER_ENABLE = 1, TIMER_INTERRUPT = 8, TIMER_IRQ = 8,
    DUAL_TIMER_32_BITS = 2, DUAL_TIMER_BY_256 = 8, DUAL_TIMER_ENABLE = 0x80,
    WATCHDOG_COUNTS = 1, WATCHDOG_RESETS = 2,
    BAUD_DIVIDER = 217,             /* 115,200 baud. */
    REST_TICKS = CLOCK_HZ / 20000   /* 50 us. */
};

static struct uart *const uarts[BOARD_LINES] = {
    (struct uart *)0x40004000, (struct uart *)0x40005000, (struct uart *)0x40006000,
    (struct uart *)0x40007000, (struct uart *)0x40009000
};

static void start_watchdog(void)
{
    WATCHDOG->load = (uint32_t)BOARD_WATCHDOG_MS * (CLOCK_HZ / 1000);
    WATCHDOG->control = WATCHDOG_COUNTS | WATCHDOG_RESETS;
}

/* No interrupt is ever taken. They are masked, and a pending one ends a rest. */
void board_init(void)
{
    __asm volatile("cpsid i");
    for (unsigned k = 0; k < BOARD_LINES; k++) {
        uarts[k]->baud_divider = BAUD_DIVIDER;
        uarts[k]->control = UART_TX_ENABLE | UART_RX_ENABLE;
    }
    DUAL_TIMER->control = DUAL_TIMER_32_BITS | DUAL_TIMER_BY_256 | DUAL_TIMER_ENABLE;
    TIMER->reload = TIMER->value = REST_TICKS;
    TIMER->control = TIMER_ENABLE | TIMER_INTERRUPT;
    IRQ_ENABLE = UINT32_C(1) << TIMER_IRQ;
    start_watchdog();
}

/* The hardware counts down. */
uint32_t board_ticks(void)
{
    return ~DUAL_TIMER->value;
}

bool board_can_send(unsigned k)
{
    return !(uarts[k]->state & UART_TX_FULL);
}

void board_send(unsigned k, uint8_t byte)
{
    uarts[k]->data = byte;
}

bool board_has_byte(unsigned k)
{
    return uarts[k]->state & UART_RX_FULL;
}

uint8_t board_receive(unsigned k)
{
    return (uint8_t)uarts[k]->data;
}

/* The pending bit goes first. If the timer fired in between, it would be pending no longer, with
 * its line up, and never rise again. */
void board_rest(void)
{
    __asm volatile("wfi");
    IRQ_UNPEND = UINT32_C(1) << TIMER_IRQ;
    TIMER->interrupts = 1;
}

/* Sets the counter to its load again, and takes back the first of the two warnings. */
void board_feed_watchdog(void)
{
    WATCHDOG->clear = 1;
}

/* ---- Semihosting: what the debugger or QEMU does for the program ---- */

enum {
    HOST_OPEN = 0x01,
    HOST_CLOSE = 0x02,
    HOST_PRINT = 0x04,
    HOST_WRITE = 0x05,
    HOST_READ = 0x06,
    HOST_SYSTEM = 0x12,
    HOST_EXIT = 0x18,
    HOST_FOR_READING = 1,
    HOST_FOR_WRITING = 5,
    HOST_EXIT_GOOD = 0x20026,
    HOST_EXIT_BAD = 0x20023
};

static int host(int operation, const void *arguments)
{
    register int r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = arguments;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static uintptr_t size_of_text(const char *text)
{
    uintptr_t size = 0;
    while (text[size] != '\0') size++;
    return size;
}

void board_print(const char *text)
{
    host(HOST_PRINT, text);
}

int board_ask_host(const char *command)
{
    const uintptr_t arguments[] = { (uintptr_t)command, size_of_text(command) };
    WATCHDOG->control = 0;
    const int status = host(HOST_SYSTEM, arguments);
    start_watchdog();
    return status;
}

_Noreturn void board_exit(bool is_good)
{
    host(HOST_EXIT, (const void *)(uintptr_t)(is_good ? HOST_EXIT_GOOD : HOST_EXIT_BAD));
    for (;;) { }
}

/* A file of the host stands for the flash. */
static bool move_flash(int mode, int operation, uintptr_t bytes, size_t size)
{
    static const char path[] = "flash";
    const uintptr_t name[] = { (uintptr_t)path, (uintptr_t)mode, sizeof path - 1 };
    const int file = host(HOST_OPEN, name);
    const uintptr_t part[] = { (uintptr_t)file, bytes, size }, closed[] = { (uintptr_t)file };

    if (file < 0) return false;
    const int left = host(operation, part);
    return host(HOST_CLOSE, closed) == 0 && left == 0;
}

bool board_read_flash(void *bytes, size_t size)
{
    return move_flash(HOST_FOR_READING, HOST_READ, (uintptr_t)bytes, size);
}

bool board_write_flash(const void *bytes, size_t size)
{
    return move_flash(HOST_FOR_WRITING, HOST_WRITE, (uintptr_t)bytes, size);
}

/* ---- From the reset to main ---- */

enum { STACK_PAINT = 0x5A5A5A5A };

extern uint32_t stack_start[], stack_end[], data_start[], data_end[], data_in_flash[], bss_start[],
    bss_end[];
int main(void);
_Noreturn void begin(void);

/* The stack grows down to where no memory is, so that one that is too small is a fault, and not a
 * change of something else. */
size_t board_stack_size(void)
{
    return (size_t)((uint8_t *)stack_end - (uint8_t *)stack_start);
}

size_t board_stack_used(void)
{
    const uint32_t *word = stack_start;
    while (word < stack_end && *word == STACK_PAINT) word++;
    return (size_t)((const uint8_t *)stack_end - (const uint8_t *)word);
}

_Noreturn void begin(void)
{
    uint32_t *here = (uint32_t *)__builtin_frame_address(0) - 16;
    for (uint32_t *word = stack_start; word < here; word++) *word = STACK_PAINT;
    for (size_t i = 0; &data_start[i] < data_end; i++) data_start[i] = data_in_flash[i];
    for (uint32_t *word = bss_start; word < bss_end; word++) *word = 0;
    board_exit(main() == 0);
}

/* A fault, or the watchdog's first warning. The second one is the reset. */
static _Noreturn void stand_still(void)
{
    for (;;) { }
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    (uintptr_t)stack_end,   (uintptr_t)begin,       (uintptr_t)stand_still, (uintptr_t)stand_still,
    (uintptr_t)stand_still, (uintptr_t)stand_still, (uintptr_t)stand_still
};
