/* graph.h — what a graph consists of: recorded by graph.c, replayed by graph_launch.c. */
#ifndef SIMT_API_GRAPH_H
#define SIMT_API_GRAPH_H

#include "engine/arena_reserved.h"
#include "../include/simt/kernel.h"
#include "api.h"

enum node_kind { NODE_KERNEL, NODE_COPY, NODE_SET, NODE_HOST, NODE_ALLOCATE, NODE_FREE };

struct CUgraphNode_st {
    enum node_kind kind;
    struct CUgraphNode_st *next;
    union {
        struct {
            struct launch_configuration configuration;
            struct simt_kernel *kernel;
            void *closure;
        } launch;
        struct {
            void *to;
            const void *from;
            size_t to_pitch, from_pitch, width, height;
            enum cudaMemcpyKind kind;
            int value;
        } copy;
        struct {
            cudaHostFn_t function;
            void *data;
            size_t owned; /* bytes of data that belong to the node; 0: the caller's */
        } host;
        void *memory; /* reserved; each node that names it is a holder */
    };
};

struct CUgraph_st {
    struct CUgraphNode_st *first, **end;
    size_t count;
    bool failed; /* a node could not be recorded */
};
/* An empty graph, or NULL. */
struct CUgraph_st *graph_create(void);
/* Adds to a graph what is in the node, with copies of its own. */
void graph_copy_node(struct CUgraph_st *graph, const struct CUgraphNode_st *node);
void graph_destroy(struct CUgraph_st *graph);

#endif
