/* graph.h — a graph and its nodes: graph.c captures, instantiates and launches, graph_nodes.c builds by hand and updates. */
#ifndef SIMT_GRAPH_H
#define SIMT_GRAPH_H

#include "../include/simt/kernel.h"
#include "api.h"

enum node_kind { NODE_KERNEL, NODE_COPY, NODE_SET, NODE_HOST, NODE_ALLOCATE, NODE_FREE, NODE_EMPTY, NODE_CHILD };

struct CUgraphNode_st {
    enum node_kind kind;
    struct CUgraphNode_st *next;   /* in the order of creation; in an executable, of execution */
    struct CUgraphNode_st **after; /* the nodes that it depends on */
    size_t after_count;
    const struct CUgraphNode_st *origin; /* in an executable: the graph's node */
    struct CUgraphNode_st *copy;         /* while a graph is copied: this node's */
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
            unsigned value, element; /* of a set: bytes of the value */
        } copying;
        struct {
            cudaHostFn_t function;
            void *data;
            size_t owned; /* bytes of data that belong to the node; 0: the caller's */
        } host;
        void *memory; /* reserved; each node that names it is a holder */
        struct CUgraph_st *child;
    };
};

struct CUgraph_st {
    struct CUgraphNode_st *first, *last, **end;
    size_t count;
    bool failed;                            /* a node could not be recorded */
    bool sequential;                        /* captured: each node depends on the previous one */
    struct CUgraphExec_st *only_executable; /* of a graph that allocates */
};

struct CUgraphExec_st {
    struct CUgraph_st *graph;  /* a copy of its own, in the order of execution */
    struct CUgraph_st *source; /* a graph that allocates and has not been destroyed; otherwise NULL */
    bool auto_free;
};

struct CUgraph_st *graph_create(void); /* NULL: out of memory */
void graph_destroy(struct CUgraph_st *graph);
bool graph_allocates(const struct CUgraph_st *graph); /* has an allocation or free node */
struct CUgraphNode_st *graph_add_node(struct CUgraph_st *graph, enum node_kind kind); /* NULL: out of memory */
bool graph_depend(struct CUgraphNode_st *node, struct CUgraphNode_st *on);
/* What the node does; not its dependencies. */
void graph_node_clear(struct CUgraphNode_st *node);
bool graph_node_copy(struct CUgraphNode_st *to, const struct CUgraphNode_st *from);
/* A copy; for execution: its nodes follow those that they depend on. NULL: out of memory, or a cycle. */
struct CUgraph_st *graph_copy(struct CUgraph_st *graph, bool for_execution);

/* launch.c: a kernel and its arguments by their addresses become a kernel node, which is graph->last. */
cudaError_t launch_into_graph(struct CUgraph_st *graph, const void *kernel,
                              const struct launch_configuration *configuration, void **arguments);

#endif
