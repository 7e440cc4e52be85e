! How a Fortran program talks to the profiler that records it.
!
!     use tidemark
!     call tide_mark('event')                       names a moment: report --at event#50, --since event#50
!     call tide_mark_value('event', 'photons', n)   with a number that belongs to it
!     call tide_pause(); call tide_resume()         allocations in between are not recorded, frees are
!     call tide_snapshot('app.%I.tide')             writes the profile so far to a file of its own
!     call tide_figures(heap, restart, status)      what is live now, and the peak since the last restart
!     call tide_thread_name('reader')
!     call tide_alloc('grid', c_loc(block), size)   reports a block of the program's own allocator,
!     call tide_free('grid', c_loc(block))          and its end: report --metric pool
!     if (tide_active()) ...                        recorded, and not paused?
!
! Compile it with the program; there is nothing to link. The functions are those of libtidemark.so, which
! is loaded when the program runs under `tidemark run`; otherwise all of these do nothing. The words
! mean what they mean in C (tidemark.h). Blanks at the end of a string do not count. Nothing here allocates.
module tidemark
    use, intrinsic :: iso_c_binding
    implicit none
    private
    public :: tide_active, tide_mark, tide_mark_value, tide_thread_name
    public :: tide_snapshot, tide_figures, tide_heap, tide_pause, tide_resume, tide_alloc, tide_free

    !> The heap of the process: see tide_figures.
    type, bind(c) :: tide_heap
        integer(c_size_t) :: struct_size = 0
        integer(c_int64_t) :: live_bytes = 0, live_blocks = 0    ! allocated and not freed, now
        integer(c_int64_t) :: total_bytes = 0, allocations = 0   ! since the process began
        integer(c_int64_t) :: peak_bytes = 0                     ! highest live_bytes since then, or the restart
    end type

    !> A block of a pool; its size is an integer of 4 or 8 bytes.
    interface tide_alloc
        module procedure pool_alloc, pool_alloc_short
    end interface

    !> A mark with a number: of either real kind, or an integer.
    interface tide_mark_value
        module procedure mark_value_double, mark_value_real, mark_value_integer
    end interface

    ! The recorder cuts at the end of a character: 63 bytes of a label, 128 of a thread's name.
    integer, parameter :: text_size = 132
    integer, parameter :: path_size = 4096

    abstract interface
        subroutine call_nothing() bind(c)
        end subroutine
        subroutine call_text(text) bind(c)
            import :: c_char
            character(kind=c_char), intent(in) :: text(*)
        end subroutine
        subroutine call_value(label, key, number) bind(c)
            import :: c_char, c_double
            character(kind=c_char), intent(in) :: label(*), key(*)
            real(c_double), value :: number
        end subroutine
        subroutine call_alloc(pool, block, bytes) bind(c)
            import :: c_char, c_ptr, c_size_t
            character(kind=c_char), intent(in) :: pool(*)
            type(c_ptr), value :: block
            integer(c_size_t), value :: bytes
        end subroutine
        subroutine call_free(pool, block) bind(c)
            import :: c_char, c_ptr
            character(kind=c_char), intent(in) :: pool(*)
            type(c_ptr), value :: block
        end subroutine
        function ask_nothing() bind(c) result(answer)
            import :: c_int
            integer(c_int) :: answer
        end function
        function ask_text(text) bind(c) result(answer)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: text(*)
            integer(c_int) :: answer
        end function
        function ask_figures(heap, restart) bind(c) result(answer)
            import :: c_int, tide_heap
            type(tide_heap), intent(inout) :: heap
            integer(c_int), value :: restart
            integer(c_int) :: answer
        end function
    end interface

    interface
        function dlsym(handle, name) bind(c, name='dlsym') result(address)
            import :: c_ptr, c_funptr, c_char
            type(c_ptr), value :: handle
            character(kind=c_char), intent(in) :: name(*)
            type(c_funptr) :: address
        end function
    end interface

    ! Looked up once. Not associated: the program is not recorded.
    logical, save :: known = .false.
    procedure(ask_nothing), pointer, save :: active => null()
    procedure(call_text), pointer, save :: mark => null(), thread_name => null()
    procedure(call_value), pointer, save :: mark_value => null()
    procedure(ask_text), pointer, save :: snapshot => null()
    procedure(ask_figures), pointer, save :: figures => null()
    procedure(call_nothing), pointer, save :: pause => null(), resume => null()
    procedure(call_alloc), pointer, save :: alloc => null()
    procedure(call_free), pointer, save :: release => null()

contains

    !> Two threads may both do this: they find the same.
    subroutine look_up()
        if (known) return
        if (c_associated(found('tide_mark'))) then
            call c_f_procpointer(found('tide_active'), active)
            call c_f_procpointer(found('tide_mark'), mark)
            call c_f_procpointer(found('tide_mark_value'), mark_value)
            call c_f_procpointer(found('tide_snapshot'), snapshot)
            call c_f_procpointer(found('tide_figures'), figures)
            call c_f_procpointer(found('tide_pause'), pause)
            call c_f_procpointer(found('tide_resume'), resume)
            call c_f_procpointer(found('tide_thread_name'), thread_name)
            call c_f_procpointer(found('tide_alloc'), alloc)
            call c_f_procpointer(found('tide_free'), release)
        end if
        known = .true.
    end subroutine

    function found(name) result(address)
        character(len=*), intent(in) :: name
        type(c_funptr) :: address
        character(kind=c_char) :: text(text_size)
        call to_c(name, text)
        address = dlsym(c_null_ptr, text)
    end function

    !> Writes into the caller's buffer: concatenation would allocate, and appear in the recording.
    subroutine to_c(from, to)
        character(len=*), intent(in) :: from
        character(kind=c_char), intent(out) :: to(:)
        integer :: i, size_used
        size_used = min(len_trim(from), size(to) - 1)
        do i = 1, size_used
            to(i) = from(i:i)
        end do
        to(size_used + 1) = c_null_char
    end subroutine

    !> Is the program being recorded, and not paused?
    logical function tide_active()
        call look_up()
        tide_active = .false.
        if (associated(active)) tide_active = active() /= 0
    end function

    !> Marks a moment with a name. Marks of one name are numbered from 1.
    subroutine tide_mark(label)
        character(len=*), intent(in) :: label
        character(kind=c_char) :: text(text_size)
        call look_up()
        if (.not. associated(mark)) return
        call to_c(label, text)
        call mark(text)
    end subroutine

    subroutine mark_value_double(label, key, number)
        character(len=*), intent(in) :: label, key
        real(c_double), intent(in) :: number
        character(kind=c_char) :: label_text(text_size), key_text(text_size)
        call look_up()
        if (.not. associated(mark_value)) return
        call to_c(label, label_text)
        call to_c(key, key_text)
        call mark_value(label_text, key_text, number)
    end subroutine

    subroutine mark_value_real(label, key, number)
        character(len=*), intent(in) :: label, key
        real(c_float), intent(in) :: number
        call mark_value_double(label, key, real(number, c_double))
    end subroutine

    subroutine mark_value_integer(label, key, number)
        character(len=*), intent(in) :: label, key
        integer, intent(in) :: number
        call mark_value_double(label, key, real(number, c_double))
    end subroutine

    !> Writes the profile so far. Status 0, or negative: not recorded, or writing could not begin.
    subroutine tide_snapshot(path, status)
        character(len=*), intent(in) :: path
        integer, intent(out), optional :: status
        character(kind=c_char) :: text(path_size)
        integer :: answer
        call look_up()
        answer = -1
        if (associated(snapshot)) then
            call to_c(path, text)
            answer = int(snapshot(text))
        end if
        if (present(status)) status = answer
    end subroutine

    !> The present heap. With `restart` the next peak counts from here. Status as for tide_snapshot.
    subroutine tide_figures(heap, restart, status)
        type(tide_heap), intent(inout) :: heap
        logical, intent(in), optional :: restart
        integer, intent(out), optional :: status
        integer(c_int) :: begins
        integer :: answer
        call look_up()
        begins = 0
        if (present(restart)) begins = merge(1_c_int, 0_c_int, restart)
        answer = -1
        heap%struct_size = c_sizeof(heap)
        if (associated(figures)) answer = int(figures(heap, begins))
        if (present(status)) status = answer
    end subroutine

    !> Until tide_resume, allocations are not recorded in any thread; frees of known blocks are.
    subroutine tide_pause()
        call look_up()
        if (associated(pause)) call pause()
    end subroutine

    subroutine tide_resume()
        call look_up()
        if (associated(resume)) call resume()
    end subroutine

    !> Reports a block of the program's own pool; counted separately from the heap.
    subroutine pool_alloc(pool, block, bytes)
        character(len=*), intent(in) :: pool
        type(c_ptr), intent(in) :: block
        integer(c_int64_t), intent(in) :: bytes
        character(kind=c_char) :: text(text_size)
        call look_up()
        if (.not. associated(alloc)) return
        call to_c(pool, text)
        call alloc(text, block, int(bytes, c_size_t))
    end subroutine

    subroutine pool_alloc_short(pool, block, bytes)
        character(len=*), intent(in) :: pool
        type(c_ptr), intent(in) :: block
        integer(c_int32_t), intent(in) :: bytes
        call pool_alloc(pool, block, int(bytes, c_int64_t))
    end subroutine

    !> Reports that a block was freed. Call it before the pool can return the block again.
    subroutine tide_free(pool, block)
        character(len=*), intent(in) :: pool
        type(c_ptr), intent(in) :: block
        character(kind=c_char) :: text(text_size)
        call look_up()
        if (.not. associated(release)) return
        call to_c(pool, text)
        call release(text, block)
    end subroutine

    !> Sets the calling thread's name in reports.
    subroutine tide_thread_name(name)
        character(len=*), intent(in) :: name
        character(kind=c_char) :: text(text_size)
        call look_up()
        if (.not. associated(thread_name)) return
        call to_c(name, text)
        call thread_name(text)
    end subroutine

end module tidemark
