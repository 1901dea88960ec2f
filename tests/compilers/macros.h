/* The macros of redlock.h, expanded in a program. Any language and standard. */
uint64_t macros_memory[REDLOCK_MEMORY_DEFAULT(REDLOCK_SESSIONS(5, true)) / sizeof(uint64_t)];
uint64_t macros_least_memory[REDLOCK_MEMORY(1, REDLOCK_PIPELINE_MIN, REDLOCK_SEND_MIN(32),
                                            REDLOCK_RECEIVE_MIN) /
                             sizeof(uint64_t)];
uint32_t macros_wait_ms = REDLOCK_FOREVER;
uint32_t macros_free_in_ms = REDLOCK_UNTOLD;
uint64_t macros_never = REDLOCK_NEVER;
