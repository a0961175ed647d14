window.addEventListener("load", () => setTimeout(() => {
    // The left column shows the page's own entry and table of contents, also for a page that stands far down in it.
    const column = document.querySelector(".md-sidebar--primary .md-sidebar__scrollwrap");
    const here = column && column.querySelector(".md-nav__item--active > a.md-nav__link--active");
    if (here) column.scrollTop += here.getBoundingClientRect().top - column.getBoundingClientRect().top - column.clientHeight / 4;

    // What scrolls by itself can be scrolled with the keyboard.
    for (const frame of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap, .md-typeset .diagram"))
        new ResizeObserver(() => { frame.tabIndex = frame.scrollWidth > frame.clientWidth ? 0 : -1; }).observe(frame);
}));
