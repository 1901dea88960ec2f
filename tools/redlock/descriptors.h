/* What a program needs before it opens anything. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

/* A careless parent closes descriptors 0 to 2. The first that is opened would get their numbers: messages would go to a server,
 * or a token into a pipe of our own. What is printed on a closed stdout is still lost, and said to be: nothing can be written to
 * what is opened there. */
void occupy_descriptors(void);

#endif
