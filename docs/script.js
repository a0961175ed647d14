// The left column shows the page's own entry and table of contents, also for a page that stands far down in it.
window.addEventListener("load", () => setTimeout(() => {
    const column = document.querySelector(".md-sidebar--primary .md-sidebar__scrollwrap");
    const here = column && column.querySelector(".md-nav__item--active > a.md-nav__link--active");
    if (here) column.scrollTop += here.getBoundingClientRect().top - column.getBoundingClientRect().top - column.clientHeight / 4;
}));
