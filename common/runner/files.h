/* files.h — what a runner on the CPU backend may still open once the lab's code runs (files.cpp). */
#ifndef FILES_H
#define FILES_H

/* Nothing can be opened for reading afterwards but the program itself. Without Landlock, nothing happens. */
void close_files();

#endif
