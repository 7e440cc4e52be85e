! A job of ten events that marks the end of each. Each keeps 8,000 bytes.
!
!     gfortran bindings/fortran/tidemark.f90 examples/marks.f90 -o marks
!     tidemark run -o marks.tide ./marks
!     tidemark marks marks.tide
!     tidemark report marks.tide --since event#5 --at event#6
program marks
    use tidemark
    implicit none
    type result
        real(kind=8), allocatable :: values(:)
    end type
    type(result) :: results(10)
    real(kind=8), allocatable :: table(:)
    integer :: number

    call tide_thread_name('events')
    do number = 1, 10
        allocate(results(number)%values(1000))
        results(number)%values = number
        call tide_mark_value('event', 'number', number)
    end do

    call tide_pause()
    allocate(table(100000))  ! not in the recording
    call tide_resume()
    table = sum(results(10)%values)

    call tide_mark('all done')
    deallocate(table)
    do number = 1, 10
        deallocate(results(number)%values)
    end do
    call tide_mark('all freed')
end program marks
